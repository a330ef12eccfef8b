package session

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// maxPages limits how many pages of a list are read. The longest list, the prices of a location, has about a hundred.
const maxPages = 1000

// errEndless says that the pages of a list lead to each other.
var errEndless = errors.New("the pages do not end")

// Get sends a GET for a URL and decodes the JSON of the answer, for requests that no client of the SDK has. The error of an answer with
// another status than 200 is an azcore.ResponseError.
func Get(ctx context.Context, pipeline runtime.Pipeline, link string, into any) error {
	request, err := runtime.NewRequest(ctx, http.MethodGet, link)
	if err != nil {
		return err
	}
	response, err := pipeline.Do(request) //nolint:bodyclose // Drain closes it
	if err != nil {
		return err
	}
	defer runtime.Drain(response)
	if !runtime.HasStatusCode(response, http.StatusOK) {
		return runtime.NewResponseError(response)
	}
	return runtime.UnmarshalAsJSON(response, into)
}

// Pages reads the pages of a list one after another, beginning with that of a URL; next returns the URL of the page that follows, and an empty
// text for the last one. It ends with the first error: that of Get, or one that says that the pages do not end.
func Pages[P any](ctx context.Context, pipeline runtime.Pipeline, link string, next func(*P) string) iter.Seq2[*P, error] {
	return func(yield func(*P, error) bool) {
		seen := map[string]bool{}
		for link := link; link != ""; {
			if seen[link] || len(seen) == maxPages {
				yield(nil, errEndless)
				return
			}
			seen[link] = true
			page := new(P)
			if err := Get(ctx, pipeline, link, page); err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) {
				return
			}
			link = next(page)
		}
	}
}
