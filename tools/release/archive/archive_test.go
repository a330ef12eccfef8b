package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"
	"time"
)

func TestArchivesDependOnContentOnly(t *testing.T) {
	when := time.Date(2026, 11, 25, 2, 0, 0, 0, time.UTC)
	entries := []Entry{{Name: "it/", Mode: 0o755}, {Name: "it/b", Mode: 0o755, Content: []byte("program")}, {Name: "it/a", Mode: 0o644, Content: []byte("text")}}
	first, err := Gzip(entries, when)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Gzip(entries, when)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two archives differ: %v", err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if !unzipped.ModTime.IsZero() || unzipped.Name != "" {
		t.Errorf("the gzip header has the time %s and the name %q", unzipped.ModTime, unzipped.Name)
	}
	r := tar.NewReader(unzipped)
	for _, e := range entries {
		header, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != e.Name || header.Mode != e.Mode || header.Uid != 0 || header.Gid != 0 || header.Uname != "" || header.Gname != "" || !header.ModTime.Equal(when) {
			t.Errorf("entry %+v, want %s with mode %o", header, e.Name, e.Mode)
		}
	}
}
