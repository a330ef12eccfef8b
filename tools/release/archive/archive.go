// Package archive writes tar files that depend on nothing but their content: entries are owned by root and have a given time, in a given
// order.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Entry is a file or, if its name ends with a slash, a folder.
type Entry struct {
	Name    string
	Mode    int64
	Content []byte
}

// Tar writes entries in their order.
func Tar(to io.Writer, entries []Entry, when time.Time) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Mode: e.Mode, Size: int64(len(e.Content)), ModTime: when, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.Name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("adding %s: %w", e.Name, err)
		}
		if _, err := w.Write(e.Content); err != nil {
			return fmt.Errorf("adding %s: %w", e.Name, err)
		}
	}
	return w.Close()
}

// Gzip returns a compressed tar file of the entries. The gzip header has neither a time nor a name.
func Gzip(entries []Entry, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	err = errors.Join(Tar(w, entries, when), w.Close())
	return out.Bytes(), err
}

// Read returns the entries of a tar file.
func Read(from io.Reader) ([]Entry, error) {
	var out []Entry
	r := tar.NewReader(from)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", header.Name, err)
		}
		out = append(out, Entry{header.Name, header.Mode, content})
	}
}
