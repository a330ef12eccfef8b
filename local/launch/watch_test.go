package launch

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSupervisorGivesUp: a component is started again at most three times within two minutes, and its end says which it was.
func TestSupervisorGivesUp(t *testing.T) {
	l := layout{dir: t.TempDir()}
	for _, dir := range []string{filepath.Dir(l.pid(scheduler)), filepath.Dir(l.log(scheduler))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		l.components():   "components:\n- {name: kube-scheduler, binary: /bin/sh, args: [-c, 'echo started']}\n",
		l.pid(scheduler): "4194304", // above the largest process id
		l.log(scheduler): "unable to reach the API server\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	s := superviseRunning(l, &log)
	now := time.Unix(0, 0)
	look := func(after time.Duration) error {
		now = now.Add(after)
		return s.look([]string{scheduler, controllerManager}, now) // the second was never started
	}
	restarts := func() int { return strings.Count(log.String(), "kube-scheduler ended, starting it again") }
	if err := look(0); err != nil || restarts() != 0 {
		t.Errorf("missing once: %v, %s", err, log.String())
	}
	for n := 1; n <= restartLimit; n++ {
		if err := errors.Join(look(time.Second), look(time.Second)); err != nil || restarts() != n {
			t.Errorf("end %d: %v, %s", n, err, log.String())
		}
	}
	err := errors.Join(look(time.Second), look(time.Second))
	var broken *componentError
	if !errors.As(err, &broken) || broken.name != scheduler || !strings.Contains(err.Error(), "unable to reach") {
		t.Errorf("a fourth end within the window: %v", err)
	}
	s = superviseRunning(l, io.Discard)
	for range 2 * restartLimit {
		if err := errors.Join(look(restartWindow), look(time.Second)); err != nil {
			t.Errorf("ends that are far apart: %v", err)
		}
	}
	if strings.Contains(log.String(), controllerManager) {
		t.Errorf("a component that was never started: %s", log.String())
	}
}
