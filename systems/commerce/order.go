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

// Person is who orders.
type Person struct {
	Email string `json:"email"`
	Name  string `json:"name,omitempty"`
}

// Address is where goods go.
type Address struct {
	Line1      string `json:"line1"`
	City       string `json:"city"`
	PostalCode string `json:"postalCode"`
	Country    string `json:"country"    jsonschema:"two letters, ISO 3166-1"`
}

// LineItem is a quantity of a thing.
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

// Order is an order as it stands.
type Order struct {
	NewOrder

	ID        string    `json:"id"`
	Status    string    `json:"status"           jsonschema:"open, partially_fulfilled, fulfilled or cancelled"`
	Reason    string    `json:"reason,omitempty" jsonschema:"why it was cancelled"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// OrderUpdate is what is to be changed about an order; what is empty stays.
type OrderUpdate struct {
	ShippingAddress *Address `json:"shippingAddress,omitempty"`
	Note            string   `json:"note,omitempty"`
}

// NewFulfillment is goods that leave the warehouse.
type NewFulfillment struct {
	OrderID        string     `json:"orderId"`
	LineItems      []LineItem `json:"lineItems,omitempty"      jsonschema:"all that is left of the order unless said otherwise"`
	TrackingNumber string     `json:"trackingNumber,omitempty"`
}

// Fulfillment is goods that have left the warehouse.
type Fulfillment struct {
	NewFulfillment

	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
}

// NewReturn is goods that come back.
type NewReturn struct {
	OrderID   string     `json:"orderId"`
	LineItems []LineItem `json:"lineItems"`
	Reason    string     `json:"reason,omitempty"`
}

// Return is goods that are to come back.
type Return struct {
	NewReturn

	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
}

// Customer is who has ordered before.
type Customer struct {
	Person

	ID string `json:"id"`
}

// Product is what the shop sells.
type Product struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Variant is a product in a form that can be ordered.
type Variant struct {
	SKU       string `json:"sku"`
	ProductID string `json:"productId"`
	Title     string `json:"title"`
	Cents     int    `json:"priceCents"`
}

// Stock is how much of a variant there is at a place.
type Stock struct {
	SKU       string `json:"sku"`
	Location  string `json:"locationId"`
	Available int    `json:"available"`
}

// A Page is the part of what is found that a query asks for.
type Page struct {
	PageSize *int `json:"pageSize,omitempty" jsonschema:"how many to return, from 1 to 100; 10 unless said otherwise"`
	Skip     int  `json:"skip,omitempty"     jsonschema:"how many to leave out at the beginning"`
}

// A Period is the time in which something was created or changed, the ends included.
type Period struct {
	CreatedAtMin string `json:"createdAtMin,omitempty" jsonschema:"RFC 3339, such as 2026-02-01T00:00:00Z"`
	CreatedAtMax string `json:"createdAtMax,omitempty" jsonschema:"RFC 3339"`
	UpdatedAtMin string `json:"updatedAtMin,omitempty" jsonschema:"RFC 3339"`
	UpdatedAtMax string `json:"updatedAtMax,omitempty" jsonschema:"RFC 3339"`
}

// The queries: every list that is given restricts what is found.
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
