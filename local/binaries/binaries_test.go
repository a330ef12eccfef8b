package binaries

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseVersions(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseVersions(text)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Versions{Kubernetes: "v1.37.1", Etcd: "v3.7.0", Kwok: "v0.8.0"}); got != want {
		t.Errorf("versions %+v, want %+v", got, want)
	}
	single := "module m\nrequire k8s.io/kubernetes v1.2.3\nrequire go.etcd.io/etcd/server/v3 v3.4.5\nreplace k8s.io/kubernetes => ./x\n"
	if got, err = ParseVersions([]byte(single)); err != nil || got.Key() != "kubernetes-v1.2.3_etcd-v3.4.5_kwok-v0.8.0" {
		t.Errorf("key %q, error %v", got.Key(), err)
	}
	if _, err := ParseVersions([]byte("module m\n")); err == nil || !strings.Contains(err.Error(), "k8s.io/kubernetes") {
		t.Errorf("a go.mod without the modules: %v", err)
	}
}

func TestCacheRoot(t *testing.T) {
	goMod := []byte("require k8s.io/kubernetes v1.2.3\nrequire go.etcd.io/etcd/server/v3 v3.4.5\n")
	for _, c := range []struct{ override, xdg, home, want string }{
		{"/own", "/xdg", "/home/me", "/own"},
		{"", "/xdg", "/home/me", "/xdg/karpenter-anew"},
		{"", "not/absolute", "/home/me", "/home/me/.cache/karpenter-anew"},
		{"", "", "/home/me", "/home/me/.cache/karpenter-anew"},
	} {
		t.Setenv(CacheEnv, c.override)
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		cache, err := NewCache(goMod)
		if err != nil || cache.Root != c.want {
			t.Errorf("%+v: root %q, error %v", c, cache.Root, err)
		}
	}
}

func TestMissing(t *testing.T) {
	cache := Cache{Root: t.TempDir(), Versions: Versions{Kubernetes: "v1", Etcd: "v2", Kwok: "v3"}}
	if todo, err := cache.missing(); err != nil || len(todo) != 7 {
		t.Fatalf("an empty cache misses %d programs (%v), want 7", len(todo), err)
	}
	if err := os.MkdirAll(cache.Bin(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs(cache.Versions) {
		if err := os.WriteFile(cache.Path(p.name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if todo, err := cache.missing(); err != nil || len(todo) != 0 {
		t.Fatalf("a full cache misses %v (%v)", todo, err)
	}
	if err := os.Remove(cache.Path(Kubectl)); err != nil {
		t.Fatal(err)
	}
	if todo, err := cache.missing(); err != nil || len(todo) != 1 || todo[0].name != Kubectl {
		t.Fatalf("without kubectl it misses %v (%v)", todo, err)
	}
	if err := os.WriteFile(cache.Path(Kubectl), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.missing(); err == nil || !strings.Contains(err.Error(), "is not a program") {
		t.Fatalf("a file that cannot be run: %v", err)
	}
}

func TestLockIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "lock")
	unlock, err := lock(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-waiting
		cancel()
	}()
	if _, err := lock(ctx, path, func() { close(waiting) }); !errors.Is(err, context.Canceled) {
		t.Fatalf("a taken lock, abandoned: %v", err)
	}
	waiting = make(chan struct{})
	go func() {
		<-waiting
		unlock()
	}()
	again, err := lock(t.Context(), path, func() { close(waiting) })
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestFailedBuildSaysWhy(t *testing.T) {
	cache := Cache{Root: t.TempDir(), Versions: Versions{Kubernetes: "v1.0.0", Etcd: "v3.0.0", Kwok: "v0.8.0"}}
	module := Module{GoMod: []byte("module broken\n\ngo 1.26.0\n")}
	var out strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := Ensure(ctx, cache, module, &out)
	if err == nil || !strings.Contains(err.Error(), "building etcd v3.0.0") || !strings.Contains(err.Error(), "go.etcd.io/etcd/server/v3") {
		t.Errorf("error: %v", err)
	}
	if !strings.Contains(out.String(), "[1/7] etcd v3.0.0") {
		t.Errorf("progress: %q", out.String())
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(cache.Bin()), "build-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
