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

func TestVersionsOfModules(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	newest := Module{GoMod: text}
	for minor, want := range map[string]string{
		"":     "kubernetes-v1.37.1_etcd-v3.7.0_kwok-v0.8.0",
		"1.37": "kubernetes-v1.37.1_etcd-v3.7.0_kwok-v0.8.0",
		"1.36": "kubernetes-v1.36.3_etcd-v3.7.0_kwok-v0.8.0",
		"1.33": "kubernetes-v1.33.13_etcd-v3.7.0_kwok-v0.8.0",
	} {
		modules, err := Select(minor, newest, os.DirFS("../releases"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := modules.Versions(); err != nil || got.Key() != want {
			t.Errorf("Kubernetes %q: %q, %v, want %q", minor, got.Key(), err, want)
		}
	}
	if _, err := Select("1.32", newest, os.DirFS("../releases")); err == nil || !strings.Contains(err.Error(), "choose one of 1.33, 1.34, 1.35, 1.36, or none for v1.37.1") {
		t.Errorf("an unknown version: %v", err)
	}
	single := Module{GoMod: []byte("module m\nrequire k8s.io/kubernetes v1.2.3\nrequire go.etcd.io/etcd/server/v3 v3.4.5\nreplace k8s.io/kubernetes => ./x\n")}
	if got, err := (Modules{single, single}).Versions(); err != nil || got.Key() != "kubernetes-v1.2.3_etcd-v3.4.5_kwok-v0.8.0" {
		t.Errorf("key %q, error %v", got.Key(), err)
	}
	if _, err := (Modules{Kubernetes: Module{GoMod: []byte("module m\n")}}).Versions(); err == nil || !strings.Contains(err.Error(), "k8s.io/kubernetes") {
		t.Errorf("a go.mod without the modules: %v", err)
	}
}

func TestCacheRoot(t *testing.T) {
	module := Module{GoMod: []byte("require k8s.io/kubernetes v1.2.3\nrequire go.etcd.io/etcd/server/v3 v3.4.5\n")}
	for _, c := range []struct{ override, xdg, home, want string }{
		{"/own", "/xdg", "/home/me", "/own"},
		{"", "/xdg", "/home/me", "/xdg/karpenter-anew"},
		{"", "not/absolute", "/home/me", "/home/me/.cache/karpenter-anew"},
		{"", "", "/home/me", "/home/me/.cache/karpenter-anew"},
	} {
		t.Setenv(CacheEnv, c.override)
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		cache, err := NewCache(Modules{module, module})
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
	err := Ensure(ctx, cache, Modules{module, module}, &out)
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
