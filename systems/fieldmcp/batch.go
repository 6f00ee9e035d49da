package fieldmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/recoursehq/recourse"
)

// batch asks for each of ids. If some fail, the answer has both the results and the failures. If all fail alike, the call fails like
// each of them; otherwise none of them stands for the others, and each has its own code, in whichever order they were asked for.
func batch[T any](ids []string, ask func(id string) (T, error)) (success, error) {
	var items []T
	var succeeded []recourse.SucceededItem
	var failed []recourse.FailedItem
	for _, id := range ids {
		item, err := ask(id)
		if err != nil {
			failed = append(failed, recourse.FailedItem{ID: id, Error: recourse.From(err)})
			continue
		}
		raw, err := json.Marshal(item)
		if err != nil {
			return success{}, err
		}
		items = append(items, item)
		succeeded = append(succeeded, recourse.SucceededItem{ID: id, Value: raw})
	}
	switch {
	case len(failed) == 0:
		return complete(items), nil
	case len(failed) == 1 && len(succeeded) == 0:
		return success{}, failed[0].Error
	case len(succeeded) == 0 && alike(failed):
		return success{}, failed[0].Error.With(func(e *recourse.Error) {
			e.Message = fmt.Sprintf("All %d items failed, the first one so: %s", len(failed), e.Sentence())
			e.Failed = failed
		})
	default:
		return success{}, recourse.Partial(succeeded, failed)
	}
}

// alike reports whether the same is to be done about all failures.
func alike(failed []recourse.FailedItem) bool {
	return !slices.ContainsFunc(failed, func(f recourse.FailedItem) bool {
		return f.Error.Kind != failed[0].Error.Kind || f.Error.Upstream.Status != failed[0].Error.Upstream.Status
	})
}

func (s *System) fields(ctx context.Context, caller string, in fieldsArgs) (success, error) {
	return batch(in.FieldIDs, func(id string) (measuredField, error) { return s.field(ctx, caller, id) })
}

// The quality of compare is that of the worst of its fields, and what it lacks is said of each, also if some of them fail.
func (s *System) compare(ctx context.Context, caller string, in yieldsArgs) (success, error) {
	var missing []recourse.MissingData
	all, err := batch(in.FieldIDs, func(id string) (yield, error) {
		y, lacks, err := s.yield(ctx, caller, id, in.Season)
		if err != nil {
			lacks = recourse.From(err).Missing
		}
		for _, m := range lacks {
			m.What = id + ": " + m.What
			missing = append(missing, m)
		}
		return y, err
	})
	if err != nil {
		if len(in.FieldIDs) > 1 {
			err = recourse.From(err).With(func(e *recourse.Error) { e.Missing = missing })
		}
		return success{}, err
	}
	return lacking(all.Data, missing), nil
}

// A yield is the harvest of a field in a season.
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
	return lacking(y, missing), nil
}

// yield computes the yield of a field, and says what would have improved it.
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
	var applied bool
	var tonnes float64
	for _, o := range done {
		switch o.Type {
		case "seeding":
			seeded = o.Date
		case "harvest":
			harvested, y.Crop = o.Date, o.Crop
			tonnes += o.Tonnes
		case "application":
			applied = true
		}
	}
	var missing []recourse.MissingData
	if seeded == "" {
		missing = append(missing, recourse.MissingData{
			What: "seeding", Impact: impactDegraded, Message: "The days of growth are not known: record the seeding.",
		})
	}
	if !applied {
		missing = append(missing, recourse.MissingData{
			What: "application", Impact: impactOptional,
			Message: "Nothing is known of what was applied: record it for later analyses; the yield is the same without.",
		})
	}
	switch {
	case harvested == "":
		missing = append(missing, recourse.MissingData{
			What: "harvest", Impact: impactRequired, Message: "There is no yield without a harvest: upload the harvest of the season.",
		})
		return yield{}, nil, recourse.InsufficientData(missing...)
	case tonnes == 0:
		missing = append(missing, recourse.MissingData{
			What: "tonnes", Impact: impactRequired, Message: "There is no yield without a weight: upload that of the harvest.",
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

// days returns the number of days between two dates.
func days(from, to string) (int, error) {
	start, errStart := time.Parse(time.DateOnly, from)
	end, errEnd := time.Parse(time.DateOnly, to)
	const day = 24 * time.Hour
	return int(end.Sub(start) / day), errors.Join(errStart, errEnd)
}
