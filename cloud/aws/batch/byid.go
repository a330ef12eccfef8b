package batch

import (
	"context"
	"errors"
	"slices"
)

// errMissing says that a batch did not answer for an id.
var errMissing = errors.New("the batch has no answer")

// ByID reads resources by their IDs in shared calls. Make one with NewByID.
type ByID[R any] struct {
	batcher *Batcher[string, R]
	many    func(context.Context, []string) (map[string]R, error)
}

// NewByID returns a batcher of IDs. The function many may answer for only some of the IDs, and may return partial results together
// with an error.
func NewByID[R any](options Options, many func(context.Context, []string) (map[string]R, error)) *ByID[R] {
	call := func(ctx context.Context, ids []string) []Result[R] {
		distinct := slices.Compact(slices.Sorted(slices.Values(ids)))
		// The error does not matter: every caller without an answer retries alone and gets a separate error.
		answers, _ := many(ctx, distinct)
		results := make([]Result[R], len(ids))
		for i, id := range ids {
			answer, ok := answers[id]
			results[i] = Result[R]{Value: answer}
			if !ok {
				results[i].Err = errMissing
			}
		}
		return results
	}
	return &ByID[R]{batcher: New(options, func(string) string { return "" }, call), many: many}
}

// Do reads one ID. If the batch has no answer for it, another ID may have failed the batch: Do reads the ID alone, with
// the concurrency limit of the options. False means that the resource does not exist.
func (b *ByID[R]) Do(ctx context.Context, id string) (R, bool, error) {
	answer, err := b.batcher.Do(ctx, id)
	if !errors.Is(err, errMissing) {
		return answer, err == nil, err
	}
	select {
	case b.batcher.slots <- struct{}{}:
	case <-ctx.Done():
		return answer, false, ctx.Err()
	}
	defer func() { <-b.batcher.slots }()
	answers, err := b.many(ctx, []string{id})
	answer, ok := answers[id]
	if ok {
		return answer, true, nil
	}
	return answer, false, err
}
