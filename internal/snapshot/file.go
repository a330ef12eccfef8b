package snapshot

import (
	"bufio"
	"bytes"
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
// document and field. The objects are those of the cluster: none is to be expanded or admitted. forbidden are the kinds that could not be listed.
func Read(reader *manifest.Reader, file string, stdin io.Reader) (held manifest.Manifest, forbidden []string, err error) {
	if file == manifest.Stdin {
		return read(reader, "stdin", stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return manifest.Manifest{}, nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(file, compressed) {
		return read(reader, file, f)
	}
	text, err := gzip.NewReader(f)
	if err != nil {
		return manifest.Manifest{}, nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return read(reader, file, text)
}

func read(reader *manifest.Reader, name string, from io.Reader) (held manifest.Manifest, forbidden []string, err error) {
	text := bufio.NewReader(from)
	forbidden = forbiddenIn(text)
	held, err = reader.Read(name, text)
	return held, forbidden, err
}

// forbiddenIn are the kinds that the comment at the begin of a snapshot names, which stays unread.
func forbiddenIn(text *bufio.Reader) []string {
	begin, _ := text.Peek(text.Size()) // the reader of the documents meets the error again
	rest, found := bytes.CutPrefix(begin, []byte(header+unlisted))
	if !found {
		return nil
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strings.Split(string(line), ", ")
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
