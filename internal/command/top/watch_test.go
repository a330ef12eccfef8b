package top

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
	"github.com/karpenter-anew/karpenter/test/poll"
	"github.com/karpenter-anew/karpenter/test/refusingapi"
)

// terminal is what a program writes to its terminal, and what is typed there.
type terminal struct {
	io.ReadWriter

	mu  sync.Mutex
	all strings.Builder
}

// follow reads until the program is gone.
func (o *terminal) follow() {
	buffer := make([]byte, 4096)
	for {
		n, err := o.Read(buffer)
		o.mu.Lock()
		o.all.Write(buffer[:n])
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (o *terminal) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.all.String(), text)
}

// TestFollowsTheClusterInATerminal: a node that is added is on the screen, and kinds are listed once.
func TestFollowsTheClusterInATerminal(t *testing.T) {
	cluster := refusingapi.Start(t)
	cluster.Node(t, "first")
	keyboard, device, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	defer device.Close()
	if err := pty.Setsize(keyboard, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	shown := &terminal{ReadWriter: keyboard}
	go shown.follow()

	var line struct {
		Top Command `cmd:""`
	}
	line.Top = New(commandtest.Binary())
	ended := make(chan int, 1)
	go func() {
		ended <- command.Line{
			Grammar: &line, Binary: commandtest.Binary(), Args: []string{"top", "--interval=1s", "--kubeconfig=" + cluster.Kubeconfig},
			Env: func(name string) (string, bool) { return "xterm", name == "TERM" },
		}.Run(command.Streams{In: device, Out: device, Err: io.Discard})
	}()
	poll.Until(t, "the first node is on the screen", func() bool { return shown.has("first") })
	cluster.Node(t, "second")
	poll.Until(t, "the second is", func() bool { return shown.has("second") })
	for _, resource := range []string{"nodes", "pods"} {
		if n := cluster.Listed(resource); n != 1 {
			t.Errorf("%s were listed %d times", resource, n)
		}
	}
	if _, err := keyboard.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != command.ExitOK {
		t.Errorf("the command ended with %d", code)
	}
}
