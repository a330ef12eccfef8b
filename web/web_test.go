package web_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/web"
)

// compressed is the most that all files of the page may take, compressed: what a slow connection transfers.
const compressed = 150_000

func TestThePageIsSmall(t *testing.T) {
	total := 0
	for name, text := range files(t) {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%7d bytes, %6d compressed: %s", len(text), b.Len(), name)
		total += b.Len()
	}
	t.Logf("%d bytes compressed in all", total)
	if total > compressed {
		t.Errorf("the page has %d bytes compressed, at most %d are wanted", total, compressed)
	}
}

// TestVendoredFilesAreThoseOfNPM undoes the only change of vendor/fetch.sh, and compares the checksums with those of the packages.
func TestVendoredFilesAreThoseOfNPM(t *testing.T) {
	served := files(t)
	listed, licenses := map[string]bool{}, map[string]bool{}
	packages := read(t, "vendor/PACKAGES")
	undo := strings.NewReplacer(`from"./preact.mjs"`, `from"preact"`, `from"./preact-hooks.mjs"`, `from"preact/hooks"`, `from"./signals-core.mjs"`, `from"@preact/signals-core"`)
	for line := range strings.Lines(read(t, "vendor/FILES")) {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Fatalf("FILES: %q does not have a checksum, a file, a package and a path", line)
		}
		listed[f[1]] = true
		text, ok := served["vendor/"+f[1]]
		if !ok {
			t.Errorf("%s is listed, but not served", f[1])
			continue
		}
		sum := sha256.Sum256([]byte(undo.Replace(string(text))))
		if got := hex.EncodeToString(sum[:]); got != f[0] {
			t.Errorf("%s differs from %s of %s: checksum %s instead of %s; run make web-vendor", f[1], f[3], f[2], got, f[0])
		}
		if !strings.Contains(packages, f[2]+" ") {
			t.Errorf("PACKAGES lacks %s", f[2])
		}
		licenses[f[2]] = licenses[f[2]] || f[3] == "LICENSE"
	}
	for name, has := range licenses {
		if !has {
			t.Errorf("%s has no file with its license", name)
		}
	}
	for name := range served {
		if file, ok := strings.CutPrefix(name, "vendor/"); ok && !listed[file] {
			t.Errorf("%s is served, but not in FILES", name)
		}
	}
}

// TestThePageFitsItsPolicy finds what the content security policy would refuse, and modules that do not exist.
func TestThePageFitsItsPolicy(t *testing.T) {
	all := files(t)
	page := string(all["index.html"])
	for _, bad := range []string{"<style", " style=", "onclick=", "javascript:"} {
		if strings.Contains(page, bad) {
			t.Errorf("index.html has %q, which the policy refuses", bad)
		}
	}
	if n := strings.Count(page, "<script"); n != 1 || !strings.Contains(page, `<script type="module" src="`) {
		t.Errorf("index.html has %d scripts, want one module with a source", n)
	}
	links := regexp.MustCompile(`(?:src|href)="([^"#]+)"`)
	for _, m := range links.FindAllStringSubmatch(page, -1) {
		if _, ok := all[m[1]]; !ok && !strings.HasPrefix(m[1], "api/v1/") {
			t.Errorf("index.html refers to %s, which is not served", m[1])
		}
	}
	imports := regexp.MustCompile(`(?:\bimport[\w\s{},$*]*? ?from ?|\bexport\s?\{[\w\s,$]*\}\s?from ?|\bimport\()["']([^"'\n]+)["']`)
	elsewhere := regexp.MustCompile(`https?://[^\s"'` + "`" + `]+`)
	for name, text := range all {
		if path.Ext(name) != ".js" && path.Ext(name) != ".mjs" {
			continue
		}
		for _, m := range imports.FindAllSubmatch(text, -1) {
			if target := path.Join(path.Dir(name), string(m[1])); !strings.HasPrefix(string(m[1]), ".") || all[target] == nil {
				t.Errorf("%s imports %s, which is not served", name, m[1])
			}
		}
		if at := elsewhere.Find(text); at != nil && path.Dir(name) == "js" {
			t.Errorf("%s refers to %s: the page asks only its own server", name, at)
		}
		if regexp.MustCompile(`\beval\(|new Function\(|dangerouslySetInnerHTML|\.innerHTML`).Match(text) && path.Dir(name) == "js" {
			t.Errorf("%s makes code or markup from text", name)
		}
	}
}

func TestTheModulesAreShort(t *testing.T) {
	for name, text := range files(t) {
		if lines := bytes.Count(text, []byte("\n")); path.Dir(name) != "vendor" && lines > 500 {
			t.Errorf("%s has %d lines, at most 500 are wanted", name, lines)
		}
	}
}

func files(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(web.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		out[name], err = fs.ReadFile(web.Files(), name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
