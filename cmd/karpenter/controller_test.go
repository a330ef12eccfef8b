package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/internal/command"
)

// actAs makes the test binary behave as another program: "karpenter", or "stuck", which ignores that it should stop.
const actAs = "KARPENTER_TEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "karpenter":
		main()
	case "stuck":
		ctx, _ := command.UntilSignal(context.Background())
		fmt.Println("started")
		<-ctx.Done()
		fmt.Println("stopping")
		select {}
	}
	os.Exit(m.Run())
}

// process is a running program.
type process struct {
	t   *testing.T
	cmd *exec.Cmd

	mu     sync.Mutex
	lines  []string
	more   chan struct{} // closed and replaced when a line arrives
	exited chan struct{}
	err    error
}

// launch starts the test binary as a program, without the environment of the host.
func launch(t *testing.T, as string, args ...string) *process {
	t.Helper()
	return launchIn(t, nil, as, args...)
}

// launchIn starts the test binary as a program in an environment.
func launchIn(t *testing.T, environment []string, as string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), more: make(chan struct{}), exited: make(chan struct{})}
	p.cmd.Env = append([]string{actAs + "=" + as}, environment...)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go p.read(out)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("output of %s %v:\n%s", as, args, p.output())
		}
	})
	return p
}

func (p *process) read(out *os.File) {
	for s := bufio.NewScanner(out); s.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
	out.Close()
	p.err = p.cmd.Wait()
	close(p.exited)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// says waits for output that matches and returns the submatches.
func (p *process) says(pattern string, within time.Duration) []string {
	p.t.Helper()
	expression, timeout := regexp.MustCompile(pattern), time.After(within)
	for {
		p.mu.Lock()
		more := p.more
		p.mu.Unlock()
		if found := expression.FindStringSubmatch(p.output()); found != nil {
			return found
		}
		select {
		case <-more:
		case <-p.exited:
			if found := expression.FindStringSubmatch(p.output()); found != nil {
				return found
			}
			p.t.Fatalf("the process ended (%v) without saying %q", p.err, pattern)
		case <-timeout:
			p.t.Fatalf("the process did not say %q within %v", pattern, within)
		}
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the end and checks the exit code.
func (p *process) ends(code int, within time.Duration) {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		p.t.Fatalf("still running after %v", within)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
}

// get asks an endpoint that the process announced.
func (p *process) get(endpoint, path string) (int, string) {
	p.t.Helper()
	port := p.says(`serving `+endpoint+`".*:(\d+)"`, 10*time.Second)[1]
	response, err := http.Get("http://127.0.0.1:" + port + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// becomesReady polls until the readiness probe succeeds; a failing probe takes a while, so that it does not sleep.
func (p *process) becomesReady(within time.Duration) {
	p.t.Helper()
	for end := time.Now().Add(within); ; {
		code, body := p.get("health probes", "/readyz?verbose")
		if code == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("not ready after %v: %s", within, body)
		}
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	p := launch(t, "stuck")
	p.says("started", 10*time.Second)
	p.signal(syscall.SIGTERM)
	p.says("stopping", 10*time.Second)
	p.signal(syscall.SIGINT)
	p.ends(1, 10*time.Second)
}

func TestStopWhileTheServerDoesNotAnswer(t *testing.T) {
	p := launch(t, "karpenter", "controller", "--kubeconfig=testdata/kubeconfig.yaml", "--disable-leader-election", "--metrics-port=0", "--health-probe-port=0")
	p.says(`does not answer, retrying.*giving-up-in`, 20*time.Second)
	if code, body := p.get("health probes", "/healthz"); code != http.StatusOK {
		t.Errorf("alive: %d %s", code, body)
	}
	if code, body := p.get("health probes", "/readyz"); code == http.StatusOK || !strings.Contains(body, "waiting for the API server") {
		t.Errorf("ready: %d %s", code, body)
	}
	p.signal(syscall.SIGTERM)
	p.ends(0, 10*time.Second)
}

// TestReplicas follows two replicas on a real API server from before the definitions exist to the end of the second.
func TestReplicas(t *testing.T) {
	c, environment, kubeconfig := startServer(t)
	args := []string{
		"controller", "--kubeconfig=" + kubeconfig, "--metrics-port=0", "--health-probe-port=0", "--leader-election-namespace=default",
		"--enable-profiling",
	}
	first := launchIn(t, []string{"KARPENTER_SERVICE=karpenter"}, "karpenter", args...) // as the chart sets it
	first.says(`not installed, waiting for them.*NodePool.v1.karpenter.sh`, 20*time.Second)
	if _, body := first.get("health probes", "/readyz"); !strings.Contains(body, "[-]crd: ") {
		t.Errorf("ready without definitions: %s", body)
	}
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(environment.Config, envtest.CRDInstallOptions{CRDs: definitions}); err != nil {
		t.Fatal(err)
	}
	first.says("elected leader", 30*time.Second)
	first.becomesReady(30 * time.Second)
	_, metrics := first.get("metrics", "/metrics")
	for _, want := range []string{
		`karpenter_build_info{`, `client_go_request_total{code="200",method="GET"}`, `leader_election_master_status{name="karpenter-leader-election"} 1`, "go_goroutines",
		`karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="multi"} 0`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	if code, _ := first.get("metrics", "/debug/pprof/goroutine?debug=1"); code != http.StatusOK {
		t.Errorf("profile: %d", code)
	}
	holder := holderOf(t, c)

	second := launch(t, "karpenter", args...)
	second.says("Attempting to acquire leader lease|attempting to acquire leader lease", 30*time.Second)
	if code, body := second.get("health probes", "/healthz"); code != http.StatusOK {
		t.Errorf("standby alive: %d %s", code, body)
	}
	first.signal(syscall.SIGTERM)
	first.says("the lease is released", 20*time.Second)
	first.ends(0, 20*time.Second)
	if strings.Contains(second.output(), "acts now") && holderOf(t, c) == holder {
		t.Error("two replicas acted at once")
	}
	second.says("elected leader", 10*time.Second) // a lease that is not released takes 15 s
	if got := holderOf(t, c); got == holder || got == "" {
		t.Errorf("the lease is held by %q after the handover, before by %q", got, holder)
	}
	second.signal(syscall.SIGINT)
	second.ends(0, 20*time.Second)
	if got := holderOf(t, c); got != "" {
		t.Errorf("the lease is still held by %q", got)
	}
	if strings.Contains(first.output()+second.output(), "panic") {
		t.Error("something panicked")
	}
	if warning := regexp.MustCompile(`"level":"WARN".*karpenter.service.*`).FindString(first.output()); warning != "" {
		t.Errorf("a variable that the chart sets is warned about: %s", warning)
	}
}

// startServer runs an API server without definitions.
func startServer(t *testing.T) (client.Client, *envtest.Environment, string) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: this test needs a directory with the programs kube-apiserver and etcd; run \"make test\", which builds them")
	}
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return c, environment, kubeconfig
}

// holderOf returns the holder of the lease; empty if there is none.
func holderOf(t *testing.T, c client.Client) string {
	t.Helper()
	var lease coordinationv1.Lease
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "karpenter-leader-election"}, &lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
