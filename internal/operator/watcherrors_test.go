package operator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
)

func TestAnOutageIsOneLineEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := &watchErrors{log: slog.New(slog.NewTextHandler(&out, nil))}
		r := toolscache.NewReflector(&toolscache.ListWatch{}, &corev1.Pod{}, toolscache.NewStore(toolscache.MetaNamespaceKeyFunc), 0)
		w.handle(t.Context(), r, io.EOF)
		w.handle(t.Context(), r, apierrors.NewResourceExpired("too old"))
		if out.Len() > 0 {
			t.Errorf("ordinary ends are logged: %s", &out)
		}
		for range 250 { // 25 s
			w.handle(t.Context(), r, errors.New("connection refused"))
			time.Sleep(100 * time.Millisecond) // of the bubble's clock
		}
		if got := strings.Count(out.String(), "connection refused"); got != 3 {
			t.Errorf("%d lines in 25 s, want 3:\n%s", got, &out)
		}
		if !strings.Contains(out.String(), "kind=*v1.Pod") {
			t.Errorf("no kind: %s", &out)
		}
	})
}

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
