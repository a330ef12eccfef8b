package binaries

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// builtCache is a cache in which every program is a shell script that prints its name.
func builtCache(t *testing.T) Cache {
	t.Helper()
	cache := Cache{Root: t.TempDir(), Versions: Versions{Kubernetes: "v1.0.0", Etcd: "v3.0.0", Kwok: "v0.8.0"}}
	if err := os.MkdirAll(cache.Bin(), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs(cache.Versions) {
		if err := os.WriteFile(cache.Path(p.name), []byte("#!/bin/sh\necho "+p.name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return cache
}

// packed is the archive of a cache with its SHA-256.
func packed(t *testing.T, cache Cache) (archive []byte, sum string) {
	t.Helper()
	var out bytes.Buffer
	if err := Pack(cache, &out); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(out.Bytes())
	return out.Bytes(), hex.EncodeToString(hash[:])
}

// serve serves an archive under its name.
func serve(t *testing.T, name string, archive []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/archives/"+name {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(archive)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/archives/"
}

func TestArchivesReplaceTheBuild(t *testing.T) {
	built := builtCache(t)
	archive, sum := packed(t, built)
	name := built.Versions.ArchiveName()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), archive, 0o644); err != nil {
		t.Fatal(err)
	}
	for base, where := range map[string]string{"a directory": folder, "a URL": serve(t, name, archive)} {
		t.Run(base, func(t *testing.T) {
			t.Setenv(ArchiveEnv, where)
			t.Setenv(ChecksumEnv, strings.ToUpper(sum))
			cache := Cache{Root: t.TempDir(), Versions: built.Versions}
			// There is no module to build: the programs can only come from the archive.
			if err := Ensure(t.Context(), cache, Modules{}, &strings.Builder{}); err != nil {
				t.Fatal(err)
			}
			for _, p := range programs(cache.Versions) {
				if out, err := exec.Command(cache.Path(p.name)).Output(); err != nil || string(out) != p.name+"\n" {
					t.Errorf("%s printed %q, %v", p.name, out, err)
				}
			}
			if left, err := filepath.Glob(filepath.Join(filepath.Dir(cache.Bin()), "unpack-*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestPackingIsReproducible(t *testing.T) {
	_, first := packed(t, builtCache(t))
	if _, second := packed(t, builtCache(t)); first != second {
		t.Errorf("two archives of the same programs have the checksums %s and %s", first, second)
	}
	cache := builtCache(t)
	if err := os.Remove(cache.Path(Scheduler)); err != nil {
		t.Fatal(err)
	}
	if err := Pack(cache, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "kube-scheduler is not built: run local build first") {
		t.Errorf("a cache without kube-scheduler: %v", err)
	}
}

func TestBadArchivesInstallNothing(t *testing.T) {
	built := builtCache(t)
	archive, sum := packed(t, built)
	name := built.Versions.ArchiveName()
	cut := archive[:len(archive)/2]
	cutSum := sha256.Sum256(cut)
	for _, c := range []struct {
		name     string
		served   string
		archive  []byte
		checksum string
		want     string
	}{
		{"another checksum", name, archive, strings.Repeat("0", 64), "nothing was installed"},
		{"no checksum", name, archive, "", "no checksum of " + name + " is known: set LOCAL_BINARIES_SHA256"},
		{"no archive of these versions", "other.tar.gz", archive, sum, "404 Not Found"},
		{"a part of an archive", name, cut, hex.EncodeToString(cutSum[:]), "unpacking " + name},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := Cache{Root: t.TempDir(), Versions: built.Versions}
			source := Source{Base: serve(t, c.served, c.archive), Checksum: c.checksum}
			err := source.install(t.Context(), cache, &strings.Builder{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if todo, err := cache.missing(); err != nil || c.name != "a part of an archive" && len(todo) != 7 {
				t.Errorf("%d programs are missing (%v), want all", len(todo), err)
			}
		})
	}
}

func TestPinnedChecksums(t *testing.T) {
	sums := "aa  one.tar.gz\nbb  two.tar.gz\n"
	if got := pinned(sums, "two.tar.gz"); got != "bb" {
		t.Errorf("checksum %q, want bb", got)
	}
	if got := pinned(sums, "three.tar.gz"); got != "" {
		t.Errorf("checksum %q of an unknown archive", got)
	}
}
