package fieldmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/recoursehq/recourse"
)

// batch asks for each of ids. When all fail, the first failure is that of the call;
// when some do, what was found is told with what was not.
func batch[T any](ids []string, ask func(id string) (T, error)) (success, error) {
	var items []T
	var succeeded []recourse.Succeeded
	var failed []recourse.Failed
	for _, id := range ids {
		item, err := ask(id)
		if err != nil {
			failed = append(failed, recourse.Failed{ID: id, Error: recourse.From(err)})
			continue
		}
		raw, err := json.Marshal(item)
		if err != nil {
			return success{}, err
		}
		items = append(items, item)
		succeeded = append(succeeded, recourse.Succeeded{ID: id, Value: raw})
	}
	switch {
	case len(failed) == 0:
		return complete(items), nil
	case len(succeeded) == 0:
		return success{}, failed[0].Error
	default:
		return success{}, recourse.Partial(succeeded, failed)
	}
}

func (s *System) fields(ctx context.Context, caller string, in fieldsArgs) (success, error) {
	return batch(in.FieldIDs, func(id string) (measuredField, error) { return s.field(ctx, caller, id) })
}

func (s *System) compare(ctx context.Context, caller string, in yieldsArgs) (success, error) {
	return batch(in.FieldIDs, func(id string) (yield, error) {
		y, _, err := s.yield(ctx, caller, id, in.Season)
		return y, err
	})
}

// A yield is what was harvested on a field in a season.
type yield struct {
	FieldID          string  `json:"fieldId"`
	Season           int     `json:"season"`
	Crop             string  `json:"crop"`
	TonnesPerHectare float64 `json:"tonnesPerHectare"`
	DaysOfGrowth     int     `json:"daysOfGrowth,omitempty"`
}

func (s *System) analyze(ctx context.Context, caller string, in yieldArgs) (success, error) {
	y, missing, err := s.yield(ctx, caller, in.FieldID, in.Season)
	if err != nil {
		return success{}, err
	}
	if len(missing) == 0 {
		return complete(y), nil
	}
	return success{Data: y, DataQuality: "PARTIAL", MissingData: missing}, nil
}

// yield computes the yield of a field, and says what would have made it better.
func (s *System) yield(ctx context.Context, caller, id string, season int) (yield, []recourse.MissingData, error) {
	f, err := s.field(ctx, caller, id)
	if err != nil {
		return yield{}, nil, err
	}
	query := searchArgs{FieldID: id}
	query.StartDate, query.EndDate = seasonOf(season)
	done, err := s.operations(ctx, caller, query)
	if err != nil {
		return yield{}, nil, err
	}
	if len(done) == 0 {
		return yield{}, nil, recourse.NoData(fmt.Sprintf("Nothing was done on the field in %d.", season))
	}
	y := yield{FieldID: id, Season: season}
	var seeded, harvested string
	var tonnes float64
	for _, o := range done {
		switch o.Type {
		case "seeding":
			seeded = o.Date
		case "harvest":
			harvested, y.Crop = o.Date, o.Crop
			tonnes += o.Tonnes
		}
	}
	var missing []recourse.MissingData
	if seeded == "" {
		missing = append(missing, recourse.MissingData{
			What: "seeding", Impact: "degraded", Message: "The days of growth are not known: record the seeding.",
		})
	}
	if harvested == "" {
		missing = append(missing, recourse.MissingData{
			What: "harvest", Impact: "required", Message: "There is no yield without a harvest: upload the harvest of the season.",
		})
		return yield{}, nil, recourse.InsufficientData(missing...)
	}
	const places = 100
	y.TonnesPerHectare = math.Round(tonnes/f.Hectares*places) / places
	if seeded != "" {
		y.DaysOfGrowth, err = days(seeded, harvested)
	}
	return y, missing, err
}

// days returns how many days lie between two dates.
func days(from, to string) (int, error) {
	start, errStart := time.Parse(time.DateOnly, from)
	end, errEnd := time.Parse(time.DateOnly, to)
	const day = 24 * time.Hour
	return int(end.Sub(start) / day), errors.Join(errStart, errEnd)
}
