package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/local/binaries"
)

// asLauncher makes the test program behave as the launcher.
const asLauncher = "KARPENTER_LOCAL_TEST_LAUNCHER"

// patience bounds every wait of a test; on a busy host operations are slow.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asLauncher) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// launcher is a running launcher process and the cluster it made.
type launcher struct {
	t          *testing.T
	cmd        *exec.Cmd
	stdin      io.Closer
	log        *bytes.Buffer
	dir        string
	kubeconfig string
	kubectl    string
	lines      chan string
	ended      chan error
}

// begin starts `up` in a new directory, without waiting.
func begin(t *testing.T, cache binaries.Cache) *launcher {
	t.Helper()
	l := &launcher{
		t: t, log: &bytes.Buffer{}, dir: filepath.Join(t.TempDir(), "cluster"), kubectl: cache.Path(binaries.Kubectl),
		lines: make(chan string, 10), ended: make(chan error, 1),
	}
	l.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	l.cmd = launcherCommand(cache, "up", "--until-stdin-closes", "--workdir", l.dir, "--kubeconfig-out", l.kubeconfig)
	l.cmd.Stderr = l.log
	stdin, err := l.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.stdin = stdin
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			l.lines <- scanner.Text()
		}
		close(l.lines)
		l.ended <- l.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = l.cmd.Process.Kill()
		if text, err := launcherCommand(cache, "sweep").CombinedOutput(); err != nil {
			t.Errorf("sweep: %v\n%s", err, text)
		}
	})
	return l
}

// launcherCommand runs this test program as the launcher, with a separate cache.
func launcherCommand(cache binaries.Cache, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asLauncher+"=1", binaries.CacheEnv+"="+cache.Root)
	return cmd
}

// ready waits for the line that says so.
func (l *launcher) ready() *launcher {
	l.t.Helper()
	select {
	case line := <-l.lines:
		if line != "KUBECONFIG="+l.kubeconfig {
			log, err := l.end()
			l.t.Fatalf("first line of output: %q, want KUBECONFIG=%s; the launcher ended with %v\n%s", line, l.kubeconfig, err, log)
		}
	case <-time.After(patience):
		l.t.Fatal("the cluster did not become ready")
	}
	return l
}

// end waits for the launcher and returns what it wrote to standard error and its exit error.
func (l *launcher) end() (log string, err error) {
	l.t.Helper()
	select {
	case err := <-l.ended:
		return l.log.String(), err
	case <-time.After(patience):
		l.t.Fatal("the launcher did not end")
		return "", nil
	}
}

// run runs kubectl, fails the test if it fails, and returns its output.
func (l *launcher) run(stdin string, args ...string) string {
	l.t.Helper()
	text, err := l.try(stdin, args...)
	if err != nil {
		l.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return text
}

func (l *launcher) try(stdin string, args ...string) (string, error) {
	cmd := exec.Command(l.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	text, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

// eventually runs kubectl until its output is want.
func (l *launcher) eventually(want string, args ...string) time.Duration {
	l.t.Helper()
	start := time.Now()
	var got string
	waitFor(l.t, fmt.Sprintf("kubectl %s to print %q", strings.Join(args, " "), want), func() bool {
		got, _ = l.try("", args...)
		return got == want
	}, func() string { return "last output: " + got })
	return time.Since(start)
}

// waitFor polls done.
func waitFor(t *testing.T, what string, done func() bool, last func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s; %s", patience, what, last())
		}
		<-tick.C
	}
}

// processes returns the ids of the processes whose program lies below the cluster's directory, by name.
func (l *launcher) processes() map[string]int {
	l.t.Helper()
	out := map[string]int{}
	for pid, program := range everyProcess(l.t) {
		if strings.HasPrefix(program, l.dir+"/") {
			out[filepath.Base(program)] = pid
		}
	}
	return out
}

func everyProcess(t *testing.T) map[int]string {
	t.Helper()
	out := map[int]string{}
	if runtime.GOOS == "linux" {
		paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range paths {
			line, _ := os.ReadFile(path)
			program, _, _ := bytes.Cut(line, []byte{0})
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			out[pid] = string(program)
		}
		return out
	}
	text, err := exec.Command("ps", "-axo", "pid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			pid, _ := strconv.Atoi(fields[0])
			out[pid] = fields[1]
		}
	}
	return out
}

// nothingLeft fails unless every process and every file of the cluster is gone.
func (l *launcher) nothingLeft(cache binaries.Cache) {
	l.t.Helper()
	if left := l.processes(); len(left) > 0 {
		l.t.Errorf("processes are left: %v", left)
	}
	for _, path := range []string{l.dir, l.kubeconfig} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			l.t.Errorf("%s is left (%v)", path, err)
		}
	}
	records, _ := filepath.Glob(filepath.Join(cache.Root, "clusters", "*.json"))
	if len(records) > 0 {
		l.t.Errorf("records are left: %v", records)
	}
}

// signal sends sig to one process of the cluster.
func (l *launcher) signal(name string, sig syscall.Signal) {
	l.t.Helper()
	pid, ok := l.processes()[name]
	if !ok {
		l.t.Fatalf("%s does not run; running: %v", name, l.processes())
	}
	if err := syscall.Kill(pid, sig); err != nil {
		l.t.Fatal(err)
	}
}

// testCache returns a cache whose programs are links to the built ones, so that a test can spoil one and has separate records. Programs
// that were never built are built first.
func testCache(t *testing.T) binaries.Cache {
	t.Helper()
	modules, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	built, err := binaries.NewCache(modules)
	if err != nil {
		t.Fatal(err)
	}
	if err := binaries.Ensure(t.Context(), built, modules, os.Stderr); err != nil {
		t.Fatal(err)
	}
	cache := binaries.Cache{Root: t.TempDir(), Versions: built.Versions}
	if err := os.MkdirAll(filepath.Dir(cache.Bin()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(cache.Bin(), 0o755); err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(built.Bin(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range programs {
		if err := os.Symlink(path, cache.Path(filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	return cache
}

// spoil replaces a program by one that fails at once.
func spoil(t *testing.T, cache binaries.Cache, program string) {
	t.Helper()
	if err := os.Remove(cache.Path(program)); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho 'spoiled on purpose' >&2\nexit 3\n"
	if err := os.WriteFile(cache.Path(program), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}
