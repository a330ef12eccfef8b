package operator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnOutageHasABeginningAndAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var answer error
		o := &outage{log: slog.New(slog.NewTextHandler(&out, nil))}
		server := o.transport(roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, answer
		}))
		ask := func(ctx context.Context) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://host/api", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if response, err := server.RoundTrip(r); err == nil {
				response.Body.Close()
			}
		}
		ask(t.Context())
		answer = context.Canceled
		ask(canceled(t))
		if out.Len() > 0 {
			t.Errorf("logged without an outage: %s", &out)
		}
		for range 2 {
			out.Reset()
			answer = errors.New("connection refused")
			for range 250 { // 25 s
				ask(t.Context())
				time.Sleep(100 * time.Millisecond) // of the bubble's clock
			}
			answer = nil
			ask(t.Context())
			ask(t.Context())
			for text, want := range map[string]int{"does not answer": 3, "connection refused": 3, "duration=20s": 1, "answers again": 1, "duration=25s": 1} {
				if got := strings.Count(out.String(), text); got != want {
					t.Errorf("%q %d times, want %d:\n%s", text, got, want, &out)
				}
			}
		}
	})
}
