package operator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestTheReleasedLeaseIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := newDrain(t.Context(), time.Second)
		defer d.end()
		line := func(h slog.Handler) string {
			out.Reset()
			slog.New(h).WithGroup("g").With("a", 1).Error("error received", "error", errors.New(lostLease))
			return out.String()
		}
		if line(&stopHandler{Handler: slog.NewTextHandler(&out, nil), stopping: d.stopping}) == "" {
			t.Error("a lease that was really lost is hidden")
		}
		stopping := newDrain(canceled(t), time.Second)
		defer stopping.end()
		h := &stopHandler{Handler: slog.NewTextHandler(&out, nil), stopping: stopping.stopping}
		if got := line(h); got != "" {
			t.Errorf("an orderly stop logs %s", got)
		}
		out.Reset()
		slog.New(h).Error("other", "error", errors.New("why"))
		if out.Len() == 0 {
			t.Error("other errors of a stop are hidden")
		}
		if got := explain(errors.New(lostLease)).Error(); !strings.Contains(got, "10s") || !strings.Contains(got, "no two replicas") {
			t.Errorf("a lost lease is explained as %q", got)
		}
	})
}
