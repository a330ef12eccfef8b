package snapshot

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// compressed is the suffix of compressed snapshots.
const compressed = ".gz"

// Content is what a snapshot holds.
type Content struct {
	manifest.Manifest
	// Forbidden are the kinds that could not be listed.
	Forbidden []string
	// Unchecked is set if nothing tells whether the snapshot is complete, as in those of versions that did not mark the end.
	Unchecked bool
}

// Notes says what is not known of the snapshot.
func (c Content) Notes() []string {
	if c.Unchecked {
		return []string{"the end of the snapshot is not marked: an earlier version wrote it, and whether it is complete is not known"}
	}
	return nil
}

// Read reads a snapshot from a file, compressed if the name ends in .gz, or from stdin for "-". Errors name file, line,
// document and field. The objects are those of the cluster: none is to be expanded or admitted. A snapshot whose end is missing is refused.
func Read(reader *manifest.Reader, file string, stdin io.Reader) (Content, error) {
	if file == manifest.Stdin {
		return read(reader, "stdin", stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return Content{}, err
	}
	defer f.Close()
	if !strings.HasSuffix(file, compressed) {
		return read(reader, file, f)
	}
	text, err := gzip.NewReader(f)
	if err != nil {
		return Content{}, fmt.Errorf("reading %s: %w", file, err)
	}
	return read(reader, file, text)
}

func read(reader *manifest.Reader, name string, from io.Reader) (Content, error) {
	text := bufio.NewReader(from)
	begin, end := beginOf(text), &endFinder{}
	held, err := reader.Read(name, io.TeeReader(text, end))
	if begin.objects != "" && !end.found {
		return Content{}, begin.incomplete(name, len(held.Objects)+len(held.Skipped), err)
	}
	return Content{Manifest: held, Forbidden: begin.forbidden, Unchecked: begin.header && begin.objects == ""}, err
}

// begin is what the comments at the begin of a snapshot say.
type begin struct {
	// header is set if karpenter wrote the snapshot.
	header    bool
	forbidden []string
	// objects is the number of objects as it is written; empty if it is not.
	objects string
}

// beginOf reads the comments at the begin of a snapshot, which stay unread.
func beginOf(text *bufio.Reader) (b begin) {
	peeked, _ := text.Peek(text.Size()) // the reader of the documents meets the error again
	for line := range bytes.Lines(peeked) {
		comment := strings.TrimRight(string(line), "\r\n")
		switch {
		case !strings.HasPrefix(comment, "#"):
			return b
		case comment == strings.TrimSpace(header):
			b.header = true
		case strings.HasPrefix(comment, unlisted):
			b.forbidden = strings.Split(strings.TrimPrefix(comment, unlisted), ", ")
		case strings.HasPrefix(comment, counted):
			b.objects = strings.TrimPrefix(comment, counted)
		}
	}
	return b
}

// incomplete returns the error for a snapshot without its end, of which so many objects were read, or which cannot be read.
func (b begin) incomplete(name string, objects int, unreadable error) error {
	held := fmt.Sprintf("it has %d of %s objects", objects, b.objects)
	if unreadable != nil {
		held = fmt.Sprintf("of %s objects not all can be read", b.objects)
	}
	return errors.Join(fmt.Errorf("the snapshot %s is incomplete: %s, and the end is missing: copy it or capture it again; if you have removed the end, add the line %q", name, held, ended), unreadable)
}

// endFinder looks for the line that ends a snapshot in the text that is written to it.
type endFinder struct {
	found bool
	// last is the end of the text so far, shorter than what is looked for.
	last []byte
}

// Write implements io.Writer. Documents may follow the end: those that were added by hand.
func (e *endFinder) Write(text []byte) (int, error) {
	const want = "\n" + ended
	if e.found {
		return len(text), nil
	}
	seam := slices.Concat(e.last, text[:min(len(text), len(want)-1)])
	e.found = bytes.Contains(seam, []byte(want)) || bytes.Contains(text, []byte(want))
	if len(text) >= len(want)-1 {
		seam = text
	}
	e.last = slices.Clone(seam[max(0, len(seam)-len(want)+1):])
	return len(text), nil
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
