package binaries

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// ArchiveEnv is a directory, or the URL of one, with archives of built programs, which are used instead of compiling.
	ArchiveEnv = "LOCAL_BINARIES"
	// ChecksumEnv is the SHA-256 of the archive, in hexadecimal, for archives that archives.sum does not list.
	ChecksumEnv = "LOCAL_BINARIES_SHA256"
	// maxProgram bounds the size of a program in an archive.
	maxProgram = 1 << 30
)

// archiveSums has the checksums of archives, as sha256sum prints them.
//
//go:embed archives.sum
var archiveSums string

// ArchiveName is the file name of the archive of these versions for this operating system and architecture.
func (v Versions) ArchiveName() string {
	return fmt.Sprintf("%s_%s-%s.tar.gz", v.Key(), runtime.GOOS, runtime.GOARCH)
}

// Pack writes an archive of all programs of the cache. The same programs give the same bytes.
func Pack(cache Cache, out io.Writer) error {
	todo, err := cache.missing()
	if err != nil {
		return err
	}
	if len(todo) > 0 {
		return fmt.Errorf("packing %s: %s is not built: run local build first", cache.Bin(), todo[0].name)
	}
	compressed := gzip.NewWriter(out)
	files := tar.NewWriter(compressed)
	for _, p := range programs(cache.Versions) {
		if err := packOne(files, cache.Path(p.name), p.name); err != nil {
			return fmt.Errorf("packing %s: %w", p.name, err)
		}
	}
	return errors.Join(files.Close(), compressed.Close())
}

func packOne(files *tar.Writer, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// The header has no time and no owner: they would differ between two builds of the same program.
	if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: info.Size(), Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err = io.Copy(files, file)
	return err
}

// Source is where archives come from.
type Source struct {
	// Base is a directory or the URL of one; empty for none.
	Base string
	// Checksum is the expected SHA-256 in hexadecimal; empty for that of archives.sum.
	Checksum string
}

// SourceFromEnv reads ArchiveEnv and ChecksumEnv.
func SourceFromEnv() Source {
	return Source{Base: os.Getenv(ArchiveEnv), Checksum: os.Getenv(ChecksumEnv)}
}

// install puts the programs of an archive into the cache. Nothing is installed unless the checksum of the whole archive is right.
func (s Source) install(ctx context.Context, cache Cache, out io.Writer) error {
	name := cache.Versions.ArchiveName()
	want := strings.ToLower(s.Checksum)
	if want == "" {
		if want = pinned(archiveSums, name); want == "" {
			return fmt.Errorf("%s: no checksum of %s is known: set %s to its SHA-256", ArchiveEnv, name, ChecksumEnv)
		}
	}
	if err := os.MkdirAll(cache.Bin(), 0o755); err != nil {
		return fmt.Errorf("making the cache directory: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(cache.Bin()), "unpack-")
	if err != nil {
		return fmt.Errorf("making a directory for the archive: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	path := filepath.Join(work, "archive")
	got, err := s.copy(ctx, name, path, out)
	if err != nil {
		return fmt.Errorf("%s: reading %s: %w", ArchiveEnv, name, err)
	}
	if got != want {
		return fmt.Errorf("%s: %s has the SHA-256 %s, not %s: nothing was installed", ArchiveEnv, name, got, want)
	}
	if err := unpack(path, work, cache); err != nil {
		return fmt.Errorf("%s: unpacking %s: %w", ArchiveEnv, name, err)
	}
	say(out, "programs of %s installed into %s", name, cache.Bin())
	return nil
}

// pinned is the checksum of a file in a list of sha256sum; empty if it is not in the list.
func pinned(sums, name string) string {
	for line := range strings.Lines(sums) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[1] == name {
			return fields[0]
		}
	}
	return ""
}

// copy writes an archive to a path and returns its SHA-256.
func (s Source) copy(ctx context.Context, name, path string, out io.Writer) (sum string, err error) {
	from, size, err := s.open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	to, err := os.Create(path)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	meter := &meter{size: size, start: time.Now(), out: out, name: name}
	_, err = io.Copy(io.MultiWriter(to, hash, meter), from)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, to.Close())
}

// open opens an archive and returns its size in bytes, negative if it is not known.
func (s Source) open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if !strings.HasPrefix(s.Base, "http://") && !strings.HasPrefix(s.Base, "https://") {
		file, err := os.Open(filepath.Join(s.Base, name))
		if err != nil {
			return nil, 0, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, file.Close())
		}
		return file, info.Size(), nil
	}
	url := strings.TrimSuffix(s.Base, "/") + "/" + name
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, 0, errors.Join(fmt.Errorf("GET %s: %s", url, response.Status), response.Body.Close())
	}
	return response.Body, response.ContentLength, nil
}

// unpack moves the programs of an archive into the cache, each when it is complete.
func unpack(path, work string, cache Cache) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	files := tar.NewReader(compressed)
	for _, p := range programs(cache.Versions) {
		header, err := files.Next()
		if err != nil {
			return fmt.Errorf("looking for %s: %w", p.name, err)
		}
		if header.Name != p.name || header.Size > maxProgram {
			return fmt.Errorf("it has %q with %d bytes where %s was expected: make it with local pack", header.Name, header.Size, p.name)
		}
		if err := unpackOne(files, filepath.Join(work, p.name), cache.Path(p.name)); err != nil {
			return fmt.Errorf("installing %s: %w", p.name, err)
		}
	}
	return nil
}

func unpackOne(from io.Reader, path, final string) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(to, from, maxProgram); err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(err, to.Close())
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.Rename(path, final)
}
