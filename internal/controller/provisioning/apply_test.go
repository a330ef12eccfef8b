package provisioning

import (
	"log/slog"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

func TestWhatEveryPassFindsAgainIsLoggedOnceInAWhile(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	p := &Provisioner{Deps: Deps{Shared: deps.Shared{Clock: clk}}, logged: ttlcache.New[string, bool](clk, repeatAfter)}
	step := func(about string) slog.Level {
		clk.Step(10 * time.Second)
		return p.level(slog.LevelError, about)
	}
	if got := step("pod a"); got != slog.LevelError {
		t.Errorf("first time: %v", got)
	}
	if got := step("pod a"); got != slog.LevelDebug {
		t.Errorf("again: %v", got)
	}
	if got := step("pod a, another reason"); got != slog.LevelError {
		t.Errorf("something else: %v", got)
	}
	clk.Step(repeatAfter)
	if got := step("pod a"); got != slog.LevelError {
		t.Errorf("after a while: %v", got)
	}
}
