package commerce

import "time"

// NewOrder is an order to be created.
type NewOrder struct {
	ExternalID      string     `json:"externalId"                jsonschema:"the order's id in the shop"`
	Customer        Person     `json:"customer"`
	ShippingAddress *Address   `json:"shippingAddress,omitempty" jsonschema:"required of goods that are shipped, as all here are"`
	LineItems       []LineItem `json:"lineItems"`
	Note            string     `json:"note,omitempty"`
}

// Person is the person who orders.
type Person struct {
	Email string `json:"email"`
	Name  string `json:"name,omitempty"`
}

// Address is a delivery address.
type Address struct {
	Line1      string `json:"line1"`
	City       string `json:"city"`
	PostalCode string `json:"postalCode"`
	Country    string `json:"country"    jsonschema:"two letters, ISO 3166-1"`
}

// LineItem is a quantity of an article.
type LineItem struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// The states of an order.
const (
	StatusOpen      = "open"
	StatusPartial   = "partially_fulfilled"
	StatusFulfilled = "fulfilled"
	StatusCancelled = "cancelled"
)

// Order is an order in its current state.
type Order struct {
	NewOrder

	ID        string    `json:"id"`
	Status    string    `json:"status"           jsonschema:"open, partially_fulfilled, fulfilled or cancelled"`
	Reason    string    `json:"reason,omitempty" jsonschema:"why it was cancelled"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// OrderUpdate is a change to an order; empty members stay.
type OrderUpdate struct {
	ShippingAddress *Address `json:"shippingAddress,omitempty"`
	Note            string   `json:"note,omitempty"`
}

// NewFulfillment is a shipment to be made.
type NewFulfillment struct {
	OrderID        string     `json:"orderId"`
	LineItems      []LineItem `json:"lineItems,omitempty"      jsonschema:"all that is left of the order unless said otherwise"`
	TrackingNumber string     `json:"trackingNumber,omitempty"`
}

// Fulfillment is a shipment.
type Fulfillment struct {
	NewFulfillment

	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
}

// NewReturn is a return to be announced.
type NewReturn struct {
	OrderID   string     `json:"orderId"`
	LineItems []LineItem `json:"lineItems"`
	Reason    string     `json:"reason,omitempty"`
}

// Return is an announced return.
type Return struct {
	NewReturn

	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
}

// Customer is a person who has ordered before.
type Customer struct {
	Person

	ID string `json:"id"`
}

// Product is an article of the shop.
type Product struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Variant is a form of a product that can be ordered.
type Variant struct {
	SKU       string `json:"sku"`
	ProductID string `json:"productId"`
	Title     string `json:"title"`
	Cents     int    `json:"priceCents"`
}

// Stock is the quantity of a variant at a location.
type Stock struct {
	SKU       string `json:"sku"`
	Location  string `json:"locationId"`
	Available int    `json:"available"`
}

// A Page is the requested part of the results of a query.
type Page struct {
	PageSize *int `json:"pageSize,omitempty" jsonschema:"how many to return, from 1 to 100; 10 unless said otherwise"`
	Skip     int  `json:"skip,omitempty"     jsonschema:"how many to leave out at the beginning"`
}

// A Period is the time in which something was created or changed, ends included.
type Period struct {
	CreatedAtMin string `json:"createdAtMin,omitempty" jsonschema:"RFC 3339, such as 2026-02-01T00:00:00Z"`
	CreatedAtMax string `json:"createdAtMax,omitempty" jsonschema:"RFC 3339"`
	UpdatedAtMin string `json:"updatedAtMin,omitempty" jsonschema:"RFC 3339"`
	UpdatedAtMax string `json:"updatedAtMax,omitempty" jsonschema:"RFC 3339"`
}

// The queries: every list that is given restricts the results.
type (
	// OrderQuery finds orders.
	OrderQuery struct {
		Page
		Period

		IDs         []string `json:"ids,omitempty"`
		ExternalIDs []string `json:"externalIds,omitempty"`
		Statuses    []string `json:"statuses,omitempty"`
	}
	// CustomerQuery finds customers.
	CustomerQuery struct {
		Page

		IDs    []string `json:"ids,omitempty"`
		Emails []string `json:"emails,omitempty"`
	}
	// ProductQuery finds products.
	ProductQuery struct {
		Page

		IDs []string `json:"ids,omitempty"`
	}
	// VariantQuery finds variants.
	VariantQuery struct {
		Page

		SKUs       []string `json:"skus,omitempty"`
		ProductIDs []string `json:"productIds,omitempty"`
	}
	// InventoryQuery finds stock.
	InventoryQuery struct {
		Page

		SKUs        []string `json:"skus,omitempty"`
		LocationIDs []string `json:"locationIds,omitempty"`
	}
	// FulfillmentQuery finds fulfillments.
	FulfillmentQuery struct {
		Page
		Period

		IDs      []string `json:"ids,omitempty"`
		OrderIDs []string `json:"orderIds,omitempty"`
	}
	// ReturnQuery finds returns.
	ReturnQuery struct {
		Page
		Period

		IDs      []string `json:"ids,omitempty"`
		OrderIDs []string `json:"orderIds,omitempty"`
	}
)
