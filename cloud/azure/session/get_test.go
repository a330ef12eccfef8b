package session_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/karpenter-anew/karpenter/cloud/azure/session"
)

// page is a page of a list of numbers.
type page struct {
	Value []int  `json:"value"`
	Next  string `json:"next"`
}

// serve starts a server and returns its URL with a pipeline that does not retry.
func serve(t *testing.T, handle http.HandlerFunc) (string, runtime.Pipeline) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	options := &policy.ClientOptions{Transport: server.Client(), Retry: policy.RetryOptions{MaxRetries: -1}}
	return server.URL, runtime.NewPipeline("test", "v0.0.0", runtime.PipelineOptions{}, options)
}

// numbers reads a list of pages until an error.
func numbers(ctx context.Context, pipeline runtime.Pipeline, link string) (out []int, err error) {
	for p, err := range session.Pages(ctx, pipeline, link, func(p *page) string { return p.Next }) {
		if err != nil {
			return out, err
		}
		out = append(out, p.Value...)
	}
	return out, nil
}

func TestGet(t *testing.T) {
	link, pipeline := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.String() {
		case "GET /found?api-version=1":
			fmt.Fprint(w, `{"value":[1,2]}`)
		case "GET /broken":
			fmt.Fprint(w, `<html>`)
		case "GET /accepted":
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":"ResourceNotFound","message":"There is none."}}`)
		}
	})
	got := page{}
	if err := session.Get(t.Context(), pipeline, link+"/found?api-version=1", &got); err != nil || len(got.Value) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	var response *azcore.ResponseError
	if err := session.Get(t.Context(), pipeline, link+"/none", &page{}); !errors.As(err, &response) || response.ErrorCode != "ResourceNotFound" || response.StatusCode != http.StatusNotFound {
		t.Errorf("nothing there: %v", err)
	}
	if err := session.Get(t.Context(), pipeline, link+"/accepted", &page{}); !errors.As(err, &response) || response.StatusCode != http.StatusAccepted {
		t.Errorf("another status: %v", err)
	}
	for _, wrong := range []string{link + "/broken", "::"} {
		if err := session.Get(t.Context(), pipeline, wrong, &page{}); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := session.Get(gone, pipeline, link+"/found?api-version=1", &page{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestPages(t *testing.T) {
	var link string
	calls := 0
	link, pipeline := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		number, _ := strconv.Atoi(r.URL.Query().Get("page"))
		next := ""
		switch {
		case r.URL.Path == "/three" && number < 2, r.URL.Path == "/endless":
			next = fmt.Sprintf("%s%s?page=%d", link, r.URL.Path, number+1)
		case r.URL.Path == "/circle":
			next = fmt.Sprintf("%s%s?page=%d", link, r.URL.Path, 1-number)
		case r.URL.Path == "/broken" && number == 0:
			next = link + "/broken?page=1"
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"value":[%d],"next":%q}`, number, next)
	})
	for _, c := range []struct {
		path  string
		pages int
		fails bool
	}{
		{"/one", 1, false},
		{"/three", 3, false},
		{"/broken?page=0", 1, true},
		{"/circle?page=0", 2, true},
		{"/endless", 1000, true},
	} {
		got, err := numbers(t.Context(), pipeline, link+c.path)
		if len(got) != c.pages || (err != nil) != c.fails {
			t.Errorf("%s: %d pages, %v", c.path, len(got), err)
		}
	}
	calls = 0
	for first, err := range session.Pages(t.Context(), pipeline, link+"/three", func(p *page) string { return p.Next }) {
		if err != nil || first.Next == "" || calls != 1 {
			t.Errorf("first page %+v, %v, after %d calls", first, err, calls)
		}
		break
	}
	if calls != 1 {
		t.Errorf("%d pages are read for the first one", calls)
	}
}
