package segment

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// magic is how each segment begins.
	magic = "KARPLDG1"
	// suffix is the ending of the names of segments.
	suffix = ".ledger"
	// digits is the length of the names without it.
	digits = 20
	// frame is what a record takes besides its bytes.
	frame = 8
	// maxFrame is the most bytes of a record that a reader accepts; a greater length is damage. Records are much smaller.
	maxFrame = 16 << 20
)

// castagnoli is the table of the checksum.
var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant, but for its type

// Damage is a part of a segment that cannot be read.
type Damage struct {
	// Segment is the name of the file.
	Segment string
	// Offset is where it begins, in bytes, and Bytes how long it is.
	Offset, Bytes int64
	// Torn is set when it is the end of the newest segment: the process that wrote it has crashed, or is writing it now.
	Torn bool
	// Cause is what is wrong.
	Cause string
}

// String describes the damage.
func (d Damage) String() string {
	what := "skipping the rest of a damaged segment"
	if d.Torn {
		what = "ignoring the incomplete end of the newest segment"
	}
	return fmt.Sprintf("%s: %s, %d bytes from byte %d: %s", d.Segment, what, d.Bytes, d.Offset, d.Cause)
}

// Read calls visit with every record in a directory, oldest first, and returns what could not be read. An error of visit ends it.
func Read(dir string, visit func(line []byte) error) ([]Damage, error) {
	names, err := list(dir)
	if err != nil {
		return nil, err
	}
	var damages []Damage
	for i, name := range names {
		damage, err := readSegment(filepath.Join(dir, name), visit)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the writer has dropped it meanwhile
		}
		if err != nil {
			return damages, err
		}
		if damage != nil {
			damage.Torn = damage.Torn && i == len(names)-1
			damages = append(damages, *damage)
		}
	}
	return damages, nil
}

// list returns the names of the segments, oldest first.
func list(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing segments: %w", err)
	}
	var names []string
	for _, f := range files {
		if _, ok := firstOf(f.Name()); ok && f.Type().IsRegular() {
			names = append(names, f.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// nameOf is the name of the segment whose first record has this number, and firstOf the number of a name.
func nameOf(first uint64) string { return fmt.Sprintf("%0*d%s", digits, first, suffix) }

func firstOf(name string) (uint64, bool) {
	number, ok := strings.CutSuffix(name, suffix)
	if !ok || len(number) != digits {
		return 0, false
	}
	first, err := strconv.ParseUint(number, 10, 64)
	return first, err == nil
}

// readSegment calls visit with the records of one segment. The damage is nil if all of it could be read; it is torn if it reaches to the
// end of the file and looks like a write that was not finished.
func readSegment(path string, visit func(line []byte) error) (*Damage, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a segment: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading a segment: %w", err)
	}
	size, offset := info.Size(), int64(0)
	damaged := func(torn bool, cause string) *Damage {
		return &Damage{Segment: filepath.Base(path), Offset: offset, Bytes: size - offset, Torn: torn, Cause: cause}
	}
	// What is written meanwhile is for the next reader.
	in := bufio.NewReaderSize(io.LimitReader(file, size), 1<<16)
	head := make([]byte, len(magic))
	if n, err := io.ReadFull(in, head); err != nil {
		return damaged(strings.HasPrefix(magic, string(head[:n])), "it has no complete header"), nil
	}
	if string(head) != magic {
		return damaged(false, "it is not a segment of this version"), nil
	}
	offset = int64(len(magic))
	for {
		line, torn, err := next(in, size-offset)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return damaged(torn, err.Error()), nil
		}
		if err := visit(line); err != nil {
			return nil, err
		}
		offset += frame + int64(len(line))
	}
}

// next reads one record; io.EOF at the end. left is how many bytes there are. torn is set when the damage may be a write that was not finished.
func next(in io.Reader, left int64) (line []byte, torn bool, err error) {
	if left == 0 {
		return nil, false, io.EOF
	}
	var head [frame]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, true, errors.New("a record has no complete header")
	}
	length, sum := int64(binary.LittleEndian.Uint32(head[:4])), binary.LittleEndian.Uint32(head[4:])
	switch {
	case length > maxFrame || length == 0:
		return nil, false, fmt.Errorf("a record claims to have %d bytes", length)
	case length > left-frame:
		return nil, true, errors.New("a record is not complete")
	}
	line = make([]byte, length)
	if _, err := io.ReadFull(in, line); err != nil {
		return nil, true, errors.New("a record is not complete")
	}
	if crc32.Checksum(line, castagnoli) != sum {
		return nil, length == left-frame, errors.New("the checksum of a record does not match")
	}
	return line, false, nil
}
