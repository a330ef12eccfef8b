package binaries

import (
	"testing"
	"time"
)

// TestProgress: a program that was compiled before does not make the others look fast, and one that takes longer than expected says so.
func TestProgress(t *testing.T) {
	etcd, server, manager := program{minutes: 1}, program{minutes: 8}, program{minutes: 2}
	p := newProgress([]program{etcd, server, manager})
	check := func(current program, elapsed time.Duration, want string) {
		t.Helper()
		if got := p.text(current, elapsed); got != want {
			t.Errorf("after %s: %q, want %q", elapsed, got, want)
		}
	}
	p.finish(etcd, 3*time.Second)
	check(server, 0, "in all 0 %, about 10m0s left")
	check(server, 4*time.Minute, "in all 40 %, about 6m0s left")
	check(server, 9*time.Minute, "in all more than 72 %, this one takes longer than expected")
	p.finish(server, 16*time.Minute)
	check(manager, time.Minute, "in all 85 %, about 3m0s left")
}
