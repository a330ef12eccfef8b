package snapshot

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// compressed is the suffix of compressed snapshots.
const compressed = ".gz"

// Read reads a snapshot from a file, compressed if the name ends in .gz, or from stdin for "-". Errors name file, line,
// document and field. The objects are those of the cluster: none is to be expanded or admitted.
func Read(reader *manifest.Reader, file string, stdin io.Reader) (manifest.Manifest, error) {
	if file == manifest.Stdin {
		return reader.Read("stdin", stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return manifest.Manifest{}, err
	}
	defer f.Close()
	if !strings.HasSuffix(file, compressed) {
		return reader.Read(file, f)
	}
	text, err := gzip.NewReader(f)
	if err != nil {
		return manifest.Manifest{}, fmt.Errorf("reading %s: %w", file, err)
	}
	return reader.Read(file, text)
}

// Save writes a snapshot to a file, compressed if the name ends in .gz. Only its owner can read the file. It is
// written atomically.
func (s Snapshot) Save(file string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), ".snapshot-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := s.writeAs(file, f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

func (s Snapshot) writeAs(file string, to io.Writer) error {
	if !strings.HasSuffix(file, compressed) {
		return s.Write(to)
	}
	z := gzip.NewWriter(to)
	if err := s.Write(z); err != nil {
		return err
	}
	return z.Close()
}
