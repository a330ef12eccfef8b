package segment

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// DefaultSegment is the size of a segment in bytes.
	DefaultSegment = 8 << 20
	// queueRecords and queueBytes bound what waits to be written.
	queueRecords, queueBytes = 4096, 16 << 20
	// retryAfter is the pause after a failed write; records are lost meanwhile.
	retryAfter = 10 * time.Second
)

// Settings are where segments are and how large they may be.
type Settings struct {
	// Dir is the directory; it is created if it is missing.
	Dir string
	// Total is the limit of all segments together in bytes, Segment that of one; 0 for DefaultSegment. A record that is larger than a
	// segment has one for itself.
	Total, Segment int64
	// After is the clock of pauses, such as time.After.
	After func(time.Duration) <-chan time.Time
	// Report hears about what happens; its methods are called by Open and Run only.
	Report Report
}

// Report hears about the disk.
type Report interface {
	// Damaged is called for what could not be read when the directory was opened. The torn end of the newest segment was removed.
	Damaged(Damage)
	// Written is the size of all segments.
	Written(total int64)
	// Lost is the number of records that could not be written; err is why, or nil if too many waited.
	Lost(records int, err error)
	// Recovered is called when writes succeed again.
	Recovered()
}

// Writer writes records to segments. Offer and TakeLost never wait for the disk; Run does.
type Writer struct {
	settings Settings
	queue    chan item

	mu sync.Mutex
	// waiting are the bytes in the queue, full the records that it had no place for, lost those that failed after Offer took them.
	waiting int64
	full    int
	lost    uint64

	// Only Run uses the following fields. names are the segments, oldest first, with their sizes.
	names   []string
	lock    *os.File // held until Run ends
	sizes   map[string]int64
	file    *os.File
	out     *bufio.Writer
	failing bool
	// unflushed are the records in out.
	unflushed int
}

// item is a record that waits.
type item struct {
	seq  uint64
	line []byte
}

// Open returns the Writer of a directory, and the number of the next record. It repairs the end of the newest segment. The directory belongs to the
// Writer until Run ends; ErrInUse says that it belongs to another one.
func Open(s Settings) (w *Writer, next uint64, err error) {
	if s.Segment <= 0 {
		s.Segment = DefaultSegment
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return nil, 0, fmt.Errorf("creating the directory of the ledger: %w", err)
	}
	lock, err := lockDir(s.Dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	w = &Writer{settings: s, lock: lock, queue: make(chan item, queueRecords), sizes: map[string]int64{}}
	if w.names, err = list(s.Dir); err != nil {
		return nil, 0, err
	}
	next = 1
	if n := len(w.names); n > 0 {
		if next, err = w.repair(w.names[n-1]); err != nil {
			return nil, 0, err
		}
	}
	for _, name := range w.names {
		var info os.FileInfo
		if info, err = os.Stat(filepath.Join(s.Dir, name)); err != nil {
			return nil, 0, fmt.Errorf("reading a segment: %w", err)
		}
		w.sizes[name] = info.Size()
	}
	w.settings.Report.Written(w.total())
	return w, next, nil
}

// repair removes the torn end of a segment, and returns the number after its last record.
func (w *Writer) repair(name string) (next uint64, err error) {
	path, last := filepath.Join(w.settings.Dir, name), uint64(0)
	damage, err := readSegment(path, func(line []byte) error {
		var head struct {
			Seq uint64 `json:"seq"`
		}
		if err := json.Unmarshal(line, &head); err == nil {
			last = max(last, head.Seq)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if damage != nil {
		w.settings.Report.Damaged(*damage)
		if damage.Torn {
			if err := os.Truncate(path, damage.Offset); err != nil {
				return 0, fmt.Errorf("removing the torn end of a segment: %w", err)
			}
		}
	}
	first, _ := firstOf(name)
	return max(first, last) + 1, nil
}

// Offer implements ledger.Sink.
func (w *Writer) Offer(seq uint64, line []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting+int64(len(line)) > queueBytes && w.waiting > 0 {
		w.full++
		return false
	}
	select {
	case w.queue <- item{seq, line}:
		w.waiting += int64(len(line))
		return true
	default:
		w.full++
		return false
	}
}

// TakeLost implements ledger.Sink.
func (w *Writer) TakeLost() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.lost
	w.lost = 0
	return n
}

// Run writes what Offer takes until ctx ends, and then what still waits.
func (w *Writer) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, w.lock.Close()) }()
	for {
		select {
		case <-ctx.Done():
			for {
				select {
				case it := <-w.queue:
					w.write(it)
				default:
					return w.close()
				}
			}
		case it := <-w.queue:
			w.write(it)
			if len(w.queue) == 0 {
				w.flush() // so that readers see it
			}
			if w.failing {
				select {
				case <-ctx.Done():
				case <-w.settings.After(retryAfter):
				}
			}
		}
	}
}

// write writes one record, to a new segment if the current one is full.
func (w *Writer) write(it item) {
	w.mu.Lock()
	w.waiting -= int64(len(it.line))
	full := w.full
	w.full = 0
	w.mu.Unlock()
	if full > 0 {
		w.settings.Report.Lost(full, nil)
	}
	size := int64(frame + len(it.line))
	if w.file != nil && w.sizes[w.current()]+size > w.settings.Segment {
		if err := w.close(); err != nil {
			w.fail(1, err)
			return
		}
	}
	if w.file == nil {
		if err := w.create(it.seq); err != nil {
			w.fail(1, err)
			return
		}
	}
	var head [frame]byte
	binary.LittleEndian.PutUint32(head[:4], uint32(len(it.line))) //nolint:gosec // records are much smaller than 4 GiB
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(it.line, castagnoli))
	_, err := w.out.Write(head[:])
	if err == nil {
		_, err = w.out.Write(it.line)
	}
	w.unflushed++
	if err != nil {
		w.fail(0, err)
		return
	}
	w.sizes[w.current()] += size
}

// current is the name of the segment that is written.
func (w *Writer) current() string { return w.names[len(w.names)-1] }

// create starts a segment, and drops the oldest ones to make space for it.
func (w *Writer) create(first uint64) error {
	w.drop()
	name := nameOf(first)
	file, err := os.OpenFile(filepath.Join(w.settings.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return fmt.Errorf("creating a segment: %w", err)
	}
	w.file, w.out = file, bufio.NewWriterSize(file, 1<<16)
	w.names, w.sizes[name] = append(w.names, name), int64(len(magic))
	_, err = w.out.WriteString(magic)
	return err
}

// drop deletes the oldest segments until there is space for another one.
func (w *Writer) drop() {
	for len(w.names) > 0 && w.total()+w.settings.Segment > w.settings.Total {
		if err := os.Remove(filepath.Join(w.settings.Dir, w.names[0])); err != nil && !errors.Is(err, os.ErrNotExist) {
			return // the disk fails; the next write shows it
		}
		delete(w.sizes, w.names[0])
		w.names = w.names[1:]
	}
}

func (w *Writer) total() int64 {
	sum := int64(0)
	for _, size := range w.sizes {
		sum += size
	}
	return sum
}

// flush passes what was written to the operating system.
func (w *Writer) flush() {
	if w.file == nil {
		return
	}
	if err := w.out.Flush(); err != nil {
		w.fail(0, err)
		return
	}
	w.unflushed = 0
	w.settings.Report.Written(w.total())
	if w.failing {
		w.failing = false
		w.settings.Report.Recovered()
	}
}

// fail counts the records that are lost, those in the buffer included, and leaves the segment: its end is damaged.
func (w *Writer) fail(more int, err error) {
	lost := w.unflushed + more
	w.mu.Lock()
	w.lost += uint64(lost) //nolint:gosec // a number of records, not negative
	w.mu.Unlock()
	w.failing = true
	w.settings.Report.Lost(lost, err)
	w.unflushed = 0
	if w.file == nil {
		return
	}
	path := w.file.Name()
	_ = w.file.Close() // it failed already
	if info, err := os.Stat(path); err == nil {
		w.sizes[w.current()] = info.Size()
	}
	w.file, w.out = nil, nil
}

// close finishes the current segment.
func (w *Writer) close() error {
	if w.file == nil {
		return nil
	}
	w.flush()
	if w.file == nil {
		return nil // flush has failed, and reported it
	}
	file := w.file
	w.file, w.out = nil, nil
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("closing a segment: %w", err)
	}
	return nil
}
