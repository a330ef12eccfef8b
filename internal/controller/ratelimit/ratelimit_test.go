package ratelimit_test

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
)

func TestDelaysDouble(t *testing.T) {
	limiter := ratelimit.New[string](time.Second, time.Minute, 1000, 1000)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := limiter.When("a"); got != want*time.Second {
			t.Errorf("retry %d waits %v, want %vs", i, got, int(want))
		}
	}
	if got := limiter.When("b"); got != time.Second {
		t.Errorf("another item waits %v", got)
	}
	limiter.Forget("a")
	if got := limiter.When("a"); got != time.Second {
		t.Errorf("after a success it waits %v", got)
	}
}
