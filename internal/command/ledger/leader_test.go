package ledger

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/karpenter-anew/karpenter/internal/console"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// silent is a ledger.Reporter.
type silent struct{}

func (silent) Appended(ledger.Kind, int) {}
func (silent) Kept(int64, int)           {}
func (silent) Failed(ledger.Kind, error) {}

// served are the real endpoints of a leader with one record, of its start. It returns the port.
func served(t *testing.T) string {
	t.Helper()
	records := ledger.New(time.Now, 1<<20, silent{})
	records.Begin(ledger.Start{Run: "r", Controller: "v1"}, nil, 1)
	handler := console.LocalOnly(console.Handler(console.Sources{
		Prefix: console.Prefix, Records: ledger.Memory{Ledger: records}, Leading: func() bool { return true }, Failed: func(err error) { t.Error(err) },
	}))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// apiServer is as much of an API server as finding a leader and forwarding a port need, the latter by the real protocol of SPDY.
type apiServer struct {
	t      *testing.T
	leases []coordinationv1.Lease
	pods   []corev1.Pod
	// forbidden are the paths that may not be read.
	forbidden string

	mu        sync.Mutex
	forwarded []string
}

func (a *apiServer) start() string {
	server := httptest.NewServer(a)
	a.t.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP implements http.Handler.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	namespace := ""
	for i, word := range words[:len(words)-1] {
		if word == "namespaces" {
			namespace = words[i+1]
		}
	}
	switch {
	case a.forbidden != "" && strings.HasSuffix(r.URL.Path, a.forbidden):
		a.answer(w, http.StatusForbidden, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "no"})
	case strings.HasSuffix(r.URL.Path, "/portforward"):
		a.forward(w, r, words[len(words)-2])
	case strings.HasSuffix(r.URL.Path, "/leases"):
		list := coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{Kind: "LeaseList", APIVersion: "coordination.k8s.io/v1"}}
		for _, l := range a.leases {
			if (namespace == "" || namespace == l.Namespace) && r.URL.Query().Get("fieldSelector") == "metadata.name="+l.Name {
				list.Items = append(list.Items, l)
			}
		}
		a.answer(w, http.StatusOK, &list)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		a.answer(w, http.StatusOK, &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: a.pods})
	default:
		for i := range a.pods {
			if a.pods[i].Name == words[len(words)-1] {
				a.answer(w, http.StatusOK, &a.pods[i])
				return
			}
		}
		a.answer(w, http.StatusNotFound, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

func (a *apiServer) answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		a.t.Error(err)
	}
}

// forward connects streams to the port that they name, on this host.
func (a *apiServer) forward(w http.ResponseWriter, r *http.Request, pod string) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return // WebSocket, which servers before 1.30 do not know: Handshake has answered
	}
	a.mu.Lock()
	a.forwarded = append(a.forwarded, pod)
	a.mu.Unlock()
	streams := make(chan httpstream.Stream, 8)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	for {
		select {
		case <-connection.CloseChan():
			return
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) != corev1.StreamTypeData {
				_ = s.Close() // nothing goes wrong
				continue
			}
			go a.connect(s)
		}
	}
}

func (a *apiServer) connect(s httpstream.Stream) {
	to, err := net.Dial("tcp", "127.0.0.1:"+s.Headers().Get(corev1.PortHeader))
	if err != nil {
		a.t.Error(err)
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, s) }()
	_, _ = io.Copy(s, to)
	_ = s.Close()
}

func lease(namespace, holder string) coordinationv1.Lease {
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "karpenter-leader-election", Namespace: namespace},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
	}
}

func replica(name, address string) corev1.Pod {
	return corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "infra"},
		Spec:       corev1.PodSpec{NodeName: "node-" + name + ".local", Containers: []corev1.Container{{Name: "controller", Env: []corev1.EnvVar{{Name: "CONSOLE_ADDR", Value: address}}}}},
	}
}

// TestLedgerFindsTheLeader: from a kubeconfig alone, over a port that the API server forwards.
func TestLedgerFindsTheLeader(t *testing.T) {
	onHost := replica("c", "127.0.0.1:"+served(t))
	onHost.Spec.HostNetwork = true
	byFlag := replica("d", "")
	byFlag.Spec.Containers[0].Args = []string{"controller", "--console-addr=localhost:" + served(t)}
	for holder, pod := range map[string]string{"b_uid": "b", "node-c.local_uid": "c", "d_uid": "d"} {
		api := &apiServer{t: t, leases: []coordinationv1.Lease{lease("infra", holder)}, pods: []corev1.Pod{replica("a", "127.0.0.1:1"), replica("b", "127.0.0.1:"+served(t)), onHost, byFlag}}
		got := ledgerText("--kubeconfig", commandtest.Kubeconfig(t, api.start()))
		if got.Exit != "0\n" || !strings.Contains(got.Stdout, "became the leader (version v1, run r)") {
			t.Errorf("%s: exit code %s%s%s", holder, got.Exit, got.Stdout, got.Stderr)
		}
		if want := `asking the leader, pod "` + pod + `" in namespace "infra"`; !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: %s, want %q", holder, got.Stderr, want)
		}
		api.mu.Lock()
		if len(api.forwarded) != 1 || api.forwarded[0] != pod {
			t.Errorf("%s: ports of %v are forwarded", holder, api.forwarded)
		}
		api.mu.Unlock()
	}
}

func TestLedgerWithoutALeader(t *testing.T) {
	for name, c := range map[string]struct {
		api  *apiServer
		args []string
		want string
	}{
		"no lease":                   {&apiServer{}, nil, `there is no lease "karpenter-leader-election" in any namespace`},
		"no lease in the namespace":  {&apiServer{leases: []coordinationv1.Lease{lease("infra", "b")}}, []string{"--controller-namespace=other"}, `there is no lease "karpenter-leader-election" in namespace "other"`},
		"no lease of the name":       {&apiServer{leases: []coordinationv1.Lease{lease("infra", "b")}}, []string{"--leader-election-name=other"}, `there is no lease "other" in any namespace`},
		"two leases":                 {&apiServer{leases: []coordinationv1.Lease{lease("infra", "b"), lease("kube-system", "b")}}, nil, "in the namespaces infra, kube-system: choose one with --controller-namespace"},
		"nothing holds the lease":    {&apiServer{leases: []coordinationv1.Lease{lease("infra", "")}}, nil, "no replica of the controller is the leader at the moment"},
		"no pod holds the lease":     {&apiServer{leases: []coordinationv1.Lease{lease("infra", "laptop_uid")}, pods: []corev1.Pod{replica("b", "127.0.0.1:1")}}, nil, `the lease is held by "laptop_uid", and namespace "infra" has no pod of that name`},
		"the leader serves nothing":  {&apiServer{leases: []coordinationv1.Lease{lease("infra", "b_uid")}, pods: []corev1.Pod{replica("b", "")}}, nil, "does not serve its records: set --console-addr"},
		"the leader asks for tokens": {&apiServer{leases: []coordinationv1.Lease{lease("infra", "b_uid")}, pods: []corev1.Pod{replica("b", ":8082")}}, nil, "asks for a token: give one with --token-file"},
		"leases may not be listed":   {&apiServer{forbidden: "/leases"}, nil, "you may not list leases in all namespaces: name the namespace of the controller with --controller-namespace"},
		"ports may not be forwarded": {&apiServer{leases: []coordinationv1.Lease{lease("infra", "b_uid")}, pods: []corev1.Pod{replica("b", "127.0.0.1:1")}, forbidden: "/portforward"}, nil, "needs the permission to create pods/portforward"},
	} {
		t.Run(name, func(t *testing.T) {
			c.api.t = t
			got := ledgerText(append(c.args, "--kubeconfig", commandtest.Kubeconfig(t, c.api.start()))...)
			if got.Exit != "1\n" || !strings.Contains(got.Stderr, c.want) {
				t.Errorf("exit code %s%s, want %q", got.Exit, got.Stderr, c.want)
			}
		})
	}
}

// TestLedgerSourcesThatContradict: a directory and an address replace a cluster.
func TestLedgerSourcesThatContradict(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--dir=. --context=c":                     "--dir replaces a live cluster",
		"--address=http://x --as=jane":            "--address replaces a live cluster",
		"--dir=. --controller-namespace=x":        "--dir replaces a live cluster",
		"--dir=. --token-file=" + token:           "are not for --dir",
		"--leader-election-name= --kubeconfig=/x": `flag --leader-election-name="": must be the name of a lease`,
		"--as-group=g":                            "--as-group needs --as",
	} {
		if got := ledgerText(strings.Fields(args)...); got.Exit != "2\n" || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit code %s%s, want %q", args, got.Exit, got.Stderr, want)
		}
	}
}
