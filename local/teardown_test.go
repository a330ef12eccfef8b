package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Each way in which a cluster can end must leave no process, no file and no record.

func TestEndByStdin(t *testing.T) {
	cache := testCache(t)
	l := begin(t, cache).ready()
	if n := len(l.processes()); n != 5 {
		t.Errorf("%d processes run, want 5: %v", n, l.processes())
	}
	_ = l.stdin.Close()
	if log, err := l.end(); err != nil {
		t.Errorf("the launcher failed: %v\n%s", err, log)
	}
	l.nothingLeft(cache)
}

func TestInterruptWhileStarting(t *testing.T) {
	cache := testCache(t)
	l := begin(t, cache)
	waitFor(t, "etcd to run", func() bool { return l.processes()["etcd"] != 0 }, l.log.String)
	if err := l.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if log, err := l.end(); err == nil {
		t.Errorf("an interrupted start succeeded\n%s", log)
	}
	l.nothingLeft(cache)
}

func TestKwokctlDiesWhileStarting(t *testing.T) {
	cache := testCache(t)
	l := begin(t, cache)
	waitFor(t, "etcd to run", func() bool { return l.processes()["etcd"] != 0 }, l.log.String)
	l.signal("kwokctl", syscall.SIGKILL)
	if log, err := l.end(); err == nil || !strings.Contains(log, "kwokctl: signal: killed") {
		t.Errorf("the launcher ended with %v and said:\n%s", err, log)
	}
	l.nothingLeft(cache)
}

func TestComponentCannotStart(t *testing.T) {
	cache := testCache(t)
	spoil(t, cache, "kube-scheduler")
	l := begin(t, cache)
	log, err := l.end()
	if err == nil || !strings.Contains(log, "kube-scheduler") || !strings.Contains(log, "spoiled on purpose") || strings.Contains(log, "last lines of etcd") {
		t.Errorf("the launcher ended with %v and said:\n%s", err, log)
	}
	l.nothingLeft(cache)
}

func TestComponentThatEndsIsStartedAgain(t *testing.T) {
	cache := testCache(t)
	l := begin(t, cache).ready()
	for range 3 {
		before := l.processes()["kube-scheduler"]
		l.signal("kube-scheduler", syscall.SIGKILL)
		waitFor(t, "kube-scheduler to run again", func() bool {
			now := l.processes()["kube-scheduler"]
			return now != 0 && now != before
		}, func() string { return "" })
	}
	l.signal("kube-scheduler", syscall.SIGKILL)
	log, err := l.end()
	if err == nil || !strings.Contains(log, "kube-scheduler died") || strings.Count(log, "kube-scheduler ended, starting it again") != 3 {
		t.Errorf("the launcher ended with %v and said:\n%s", err, log)
	}
	l.nothingLeft(cache)
}

func TestKilledLauncherIsSwept(t *testing.T) {
	cache := testCache(t)
	killed := begin(t, cache).ready()
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = killed.end()
	if n := len(killed.processes()); n != 5 {
		t.Fatalf("%d processes outlived their launcher, want 5; the test proves nothing: %v", n, killed.processes())
	}
	next := begin(t, cache).ready()
	if n := len(next.processes()); n != 5 {
		t.Errorf("the next launcher runs %d processes, want 5: %v", n, next.processes())
	}
	if left := killed.processes(); len(left) > 0 {
		t.Errorf("the next launcher left %v", left)
	}
	_ = next.stdin.Close()
	if log, err := next.end(); err != nil || !strings.Contains(log, "its launcher (process") {
		t.Errorf("the next launcher ended with %v and said:\n%s", err, log)
	}
	killed.nothingLeft(cache)
	next.nothingLeft(cache)
}

func TestUsedDirectoryIsRefused(t *testing.T) {
	cache := testCache(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/precious", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := launcherCommand(cache, "up", "--workdir", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(text), "is not empty") {
		t.Errorf("up in a used directory: %v\n%s", err, text)
	}
	if _, err := os.Stat(dir + "/precious"); err != nil {
		t.Error(err)
	}
}

func TestBadUsage(t *testing.T) {
	cache := testCache(t)
	for _, args := range [][]string{{}, {"upp"}, {"up", "--wordkir", "x"}, {"up", "x"}} {
		text, err := launcherCommand(cache, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(text), "usage: local") {
			t.Errorf("local %s: %v\n%s", strings.Join(args, " "), err, text)
		}
	}
}
