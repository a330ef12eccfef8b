package console

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
	"github.com/karpenter-anew/karpenter/test/poll"
	"github.com/karpenter-anew/karpenter/test/refusingapi"
)

// served is a console of the command.
type served struct {
	t   *testing.T
	url string
}

// serve runs the command until the test ends.
func serve(t *testing.T, args ...string) served {
	t.Helper()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- commandtest.Code(newLine(), command.Streams{Out: in, Err: io.Discard}, append([]string{"console", "--listen=127.0.0.1:0"}, args...)...)
		_ = in.Close()
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the command ends with %d", <-ended)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return served{t, strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(first, "karpenter console: serving ")), "/")}
}

// fleetOf is what the tests read of the fleet.
type fleetOf struct {
	Failure string
	Unknown []string
	Nodes   []struct {
		Name   string
		Labels map[string]string
	}
}

func (s served) fleet() fleetOf {
	s.t.Helper()
	var out fleetOf
	response, err := http.Get(s.url + "/api/v1/fleet") //nolint:noctx // ends with the server
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s served) until(what string, holds func(fleetOf) bool) {
	s.t.Helper()
	poll.Until(s.t, what, func() bool { return holds(s.fleet()) })
}

// TestFollowsTheCluster: nodes that are added, changed and deleted are shown, although the refresh is an hour away, and kinds are listed once.
func TestFollowsTheCluster(t *testing.T) {
	cluster := refusingapi.Start(t)
	first := cluster.Node(t, "first")
	console := serve(t, "--kubeconfig="+cluster.Kubeconfig, "--refresh=1h")
	console.until("the first node is shown", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Nodes[0].Name == "first" })
	cluster.Node(t, "second")
	console.until("the second is", func(f fleetOf) bool { return len(f.Nodes) == 2 })
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"web"}}}`))
	if err := cluster.Patch(t.Context(), first, patch); err != nil {
		t.Fatal(err)
	}
	console.until("the label is", func(f fleetOf) bool { return len(f.Nodes) == 2 && f.Nodes[0].Labels["tier"] == "web" })
	if err := cluster.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	console.until("the first node is gone", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Nodes[0].Name == "second" && f.Failure == "" })
	for _, resource := range []string{"nodes", "pods"} {
		if n := cluster.Listed(resource); n != 1 {
			t.Errorf("%s were listed %d times", resource, n)
		}
	}
}

// TestEventsFollowTheCluster: the stream of changes says that there is something new.
func TestEventsFollowTheCluster(t *testing.T) {
	cluster := refusingapi.Start(t)
	console := serve(t, "--kubeconfig="+cluster.Kubeconfig, "--refresh=1h")
	response, err := http.Get(console.url + "/api/v1/changes") //nolint:noctx // ends with the server
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cluster.Node(t, "new")
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") && len(console.fleet().Nodes) == 1 {
			return
		}
	}
	t.Error("the stream ended before the node was shown")
}

// TestListsWhatMayNotBeWatched at the refresh, and says so.
func TestListsWhatMayNotBeWatched(t *testing.T) {
	cluster := refusingapi.Start(t, "watch nodes")
	console := serve(t, "--kubeconfig="+cluster.Kubeconfig, "--refresh=10ms")
	cluster.Node(t, "new")
	console.until("the node is shown, and what is not watched is said", func(f fleetOf) bool {
		return len(f.Nodes) == 1 && strings.Contains(strings.Join(f.Unknown, "\n"), "what you may list and not watch: Node") && f.Failure == ""
	})
}

// TestRefusedLists: without the settings of the controller the rest is shown; without nodes nothing is.
func TestRefusedLists(t *testing.T) {
	cluster := refusingapi.Start(t, "configmaps")
	cluster.Node(t, "only")
	console := serve(t, "--kubeconfig="+cluster.Kubeconfig)
	console.until("the node is shown", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Failure == "" })

	cluster = refusingapi.Start(t, "nodes")
	got := commandtest.Run(newLine(), "", "console", "--listen=127.0.0.1:0", "--kubeconfig="+cluster.Kubeconfig)
	if got.Exit != "1\n" || !strings.Contains(got.Stderr, "listing objects of kind Node in v1") || !strings.Contains(got.Stderr, "forbidden") {
		t.Errorf("exit code %s%s", got.Exit, got.Stderr)
	}
}

// TestLosesTheCluster: what was read is shown with why it may be old, until the API server answers again.
func TestLosesTheCluster(t *testing.T) {
	cluster := refusingapi.Start(t)
	cluster.Node(t, "first")
	console := serve(t, "--kubeconfig="+cluster.Kubeconfig)
	console.until("the node is shown", func(f fleetOf) bool { return len(f.Nodes) == 1 && f.Failure == "" })
	cluster.Refuse("nodes", true)
	cluster.Disconnect()
	cluster.Node(t, "second")
	console.until("the failure is shown with the node", func(f fleetOf) bool {
		return len(f.Nodes) == 1 && strings.Contains(f.Failure, "objects of kind Node")
	})
	cluster.Refuse("nodes", false)
	console.until("the second node is shown", func(f fleetOf) bool { return len(f.Nodes) == 2 && f.Failure == "" })
}
