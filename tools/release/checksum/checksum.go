// Package checksum writes and verifies lists of SHA-256 digests in the format of sha256sum.
package checksum

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is the name of the list.
const File = "SHA256SUMS"

// Of is the digest of a content in hexadecimal.
func Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// List lists files with their digests, in the order of their names.
func List(files map[string][]byte) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&out, "%s  %s\n", Of(files[name]), name)
	}
	return out.Bytes()
}

// Verify checks the files of a folder against the list in it, and returns their contents.
func Verify(folder string) (map[string][]byte, error) {
	list, err := os.ReadFile(filepath.Join(folder, File))
	if err != nil {
		return nil, fmt.Errorf("%w; make the release first", err)
	}
	out := map[string][]byte{}
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || name != filepath.Base(name) {
			return nil, fmt.Errorf("%s: %q is not a digest and the name of a file", filepath.Join(folder, File), line)
		}
		if out[name], err = os.ReadFile(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
		if got := Of(out[name]); got != sum {
			return nil, fmt.Errorf("%s has the digest %s, but %s says %s; make the release again", filepath.Join(folder, name), got, File, sum)
		}
	}
	return out, nil
}
