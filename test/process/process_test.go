package process_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/test/logcapture"
	"github.com/karpenter-anew/karpenter/test/process"
)

// patience is more than a shell takes to start and to end.
const patience = 20 * time.Second

// shell runs a script that prints "ready" once its traps are set.
func shell(t *testing.T, script string) (*process.Process, *logcapture.Buffer) {
	t.Helper()
	var out logcapture.Buffer
	p, err := process.Start("/bin/sh", []string{"-c", script}, []string{"WORD=ready"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	for deadline := time.Now().Add(patience); !strings.Contains(out.String(), "ready"); time.Sleep(time.Millisecond) { // a real process, in real time
		if time.Now().After(deadline) {
			t.Fatal("the script does not get ready")
		}
	}
	return p, &out
}

func TestTerminateEndsAProcessInOrder(t *testing.T) {
	p, out := shell(t, `trap 'echo bye; exit 3' TERM; echo $WORD; while :; do sleep 0.01; done`)
	if p.Ended() || p.State() != nil || p.Err() != nil || p.ID() == 0 {
		t.Error("the process is said to have ended")
	}
	if err := p.Terminate(patience); err != nil {
		t.Fatal(err)
	}
	if !p.Ended() || p.State().ExitCode() != 3 || p.Err() == nil || p.Signaled() || !strings.HasSuffix(out.String(), "bye\n") {
		t.Errorf("it ended with %v, %v, having said %q", p.State(), p.Err(), out)
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Errorf("a signal to a process that has ended: %v", err)
	}
}

func TestKillEndsAProcessThatIgnoresTerminate(t *testing.T) {
	p, _ := shell(t, `trap '' TERM; echo $WORD; while :; do sleep 0.01; done`)
	if err := p.Terminate(50 * time.Millisecond); err == nil || p.Ended() {
		t.Errorf("terminating a process that ignores it: %v", err)
	}
	if err := p.Kill(); err != nil || !p.Signaled() {
		t.Errorf("killing it: %v, %v", err, p.State())
	}
	<-p.Done()
}

func TestStartReportsAMissingProgram(t *testing.T) {
	if _, err := process.Start("/does/not/exist", nil, nil, nil); err == nil {
		t.Error("no error")
	}
}

func TestGet(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.Error(w, "not here", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(w, "ok")
	}))
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
	if body, err := process.Get(t.Context(), port, "/readyz"); err != nil || string(body) != "ok" {
		t.Errorf("got %q, %v", body, err)
	}
	if _, err := process.Get(t.Context(), port, "/x"); err == nil || !strings.Contains(err.Error(), "404 Not Found: not here") {
		t.Errorf("an error without the status and the body: %v", err)
	}
}

func TestFreePortPrefersOne(t *testing.T) {
	free, err := process.FreePort(0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := process.FreePort(free); err != nil || got != free {
		t.Errorf("got %d, %v, want the preferred %d", got, err, free)
	}
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", free))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := process.FreePort(free); err != nil || got == free || got == 0 {
		t.Errorf("got %d, %v, want another than the taken %d", got, err, free)
	}
}
