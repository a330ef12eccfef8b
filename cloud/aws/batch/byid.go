package batch

import (
	"context"
	"errors"
	"slices"
)

// errMissing says that a batch did not answer for an id.
var errMissing = errors.New("the batch has no answer")

// ByID asks for many things by their ids in one call. It is made by NewByID.
type ByID[R any] struct {
	batcher *Batcher[string, R]
	many    func(context.Context, []string) (map[string]R, error)
}

// NewByID makes a batcher of ids. The function many may answer for some of the ids only, and may return what it has together
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

// Do asks for one id. If the batch has no answer for it, one of the others may have spoilt it: the id is asked for alone, by
// no more callers at a time than the options say. False means that there is no such thing.
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
