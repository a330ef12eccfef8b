package segment_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/ledger/segment"
)

// report is a Report.
type report struct {
	damages   []segment.Damage
	lost      int
	failures  int
	recovered int
	total     int64
}

func (r *report) Damaged(d segment.Damage) { r.damages = append(r.damages, d) }

func (r *report) Written(total int64) { r.total = total }

func (r *report) Lost(n int, err error) {
	r.lost += n
	if err != nil {
		r.failures++
	}
}

func (r *report) Recovered() { r.recovered++ }

// record is a record with a number, of about so many bytes.
func record(seq uint64, size int) []byte {
	return fmt.Appendf(nil, `{"seq":%d,"pad":"%s"}`, seq, strings.Repeat("x", size))
}

// write opens a directory, writes records and closes it. It returns the numbers of the records.
func write(t *testing.T, s segment.Settings, count, size int) (first, last uint64, seen *report) {
	t.Helper()
	seen = &report{}
	s.Report, s.After = seen, time.After
	if s.Total == 0 {
		s.Total = 1 << 30
	}
	w, next, err := segment.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(count) {
		if !w.Offer(next+i, record(next+i, size)) {
			t.Fatalf("record %d was not taken", next+i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return next, next + uint64(count) - 1, seen
}

// read returns the numbers of the records in a directory, and the damages.
func read(t *testing.T, dir string) (numbers []uint64, damages []segment.Damage) {
	t.Helper()
	damages, err := segment.Read(dir, func(line []byte) error {
		var seq uint64
		if _, err := fmt.Sscanf(string(line), `{"seq":%d,`, &seq); err != nil {
			return err
		}
		numbers = append(numbers, seq)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return numbers, damages
}

func from(first, last uint64) []uint64 {
	var out []uint64
	for i := first; i <= last; i++ {
		out = append(out, i)
	}
	return out
}

// files are the segments of a directory, oldest first.
func files(t *testing.T, dir string) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(dir, "*.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestRecordsAreReadBackInOrderAfterRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	first, last, _ := write(t, segment.Settings{Dir: dir, Segment: 1000}, 20, 100)
	if first != 1 || last != 20 {
		t.Errorf("the first records are those from %d to %d", first, last)
	}
	if first, _, _ = write(t, segment.Settings{Dir: dir, Segment: 1000}, 5, 100); first != 21 {
		t.Errorf("after a restart records begin with %d", first)
	}
	got, damages := read(t, dir)
	if diff := cmp.Diff(from(1, 25), got); diff != "" || len(damages) > 0 {
		t.Error(diff, damages)
	}
	if n := len(files(t, dir)); n < 3 {
		t.Errorf("there are %d segments", n)
	}
}

func TestOldSegmentsAreDropped(t *testing.T) {
	dir := t.TempDir()
	_, _, seen := write(t, segment.Settings{Dir: dir, Segment: 1000, Total: 3000}, 100, 100)
	got, damages := read(t, dir)
	if len(got) == 0 || len(got) > 24 || got[len(got)-1] != 100 || len(damages) > 0 {
		t.Errorf("the records %v are left, damages %v", got, damages)
	}
	if diff := cmp.Diff(from(got[0], 100), got); diff != "" {
		t.Error(diff)
	}
	if seen.total > 3000 {
		t.Errorf("segments take %d bytes", seen.total)
	}
	sum := int64(0)
	for _, f := range files(t, dir) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum != seen.total {
		t.Errorf("%d bytes are reported, and %d are there", seen.total, sum)
	}
}

func TestATornEndIsRemoved(t *testing.T) {
	for cut := 1; cut < 130; cut += 16 {
		dir := t.TempDir()
		write(t, segment.Settings{Dir: dir}, 5, 100)
		file := files(t, dir)[0]
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, info.Size()-int64(cut)); err != nil {
			t.Fatal(err)
		}
		left := uint64(4)
		if cut > 120 {
			left = 3
		}
		got, damages := read(t, dir)
		if diff := cmp.Diff(from(1, left), got); diff != "" {
			t.Errorf("cut by %d: %s", cut, diff)
		}
		if len(damages) > 0 && !damages[0].Torn {
			t.Errorf("cut by %d: %v", cut, damages)
		}
		_, _, seen := write(t, segment.Settings{Dir: dir}, 1, 100)
		if len(damages) != len(seen.damages) {
			t.Errorf("cut by %d: Read reports %v, Open %v", cut, damages, seen.damages)
		}
		got, damages = read(t, dir)
		if diff := cmp.Diff(from(1, left+1), got); diff != "" || len(damages) > 0 {
			t.Errorf("cut by %d, after another start: %s %v", cut, diff, damages)
		}
	}
}

func TestTheRestOfADamagedSegmentIsSkippedAndReported(t *testing.T) {
	dir := t.TempDir()
	write(t, segment.Settings{Dir: dir}, 5, 100)
	write(t, segment.Settings{Dir: dir}, 5, 100)
	file := files(t, dir)[0]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, damages := read(t, dir)
	if diff := cmp.Diff([]uint64{1, 2, 6, 7, 8, 9, 10}, got); diff != "" {
		t.Error(diff)
	}
	if len(damages) != 1 || damages[0].Torn || !strings.Contains(damages[0].String(), "checksum") || damages[0].Segment != filepath.Base(file) {
		t.Errorf("damages: %v", damages)
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"notes.txt": "x", "00000000000000000009.ledger": "something else"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if first, _, seen := write(t, segment.Settings{Dir: dir}, 1, 10); first != 10 || len(seen.damages) != 1 {
		t.Errorf("records begin with %d, damages %v", first, seen.damages)
	}
	if got, damages := read(t, dir); len(got) != 1 || len(damages) != 1 {
		t.Errorf("records %v, damages %v", got, damages)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(text) != "x" {
		t.Errorf("the other file has %q: %v", text, err)
	}
}

func TestAReaderSeesWhatIsWrittenMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w, _, err := segment.Open(segment.Settings{Dir: dir, Total: 1 << 20, After: time.After, Report: &report{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		for i := uint64(1); i < 4; i++ {
			w.Offer(i, record(i, 10))
			synctest.Wait()
			if got, damages := read(t, dir); uint64(len(got)) != i || len(damages) > 0 {
				t.Errorf("records %v, damages %v", got, damages)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// TestAFailingDiskLosesRecordsUntilItWorks: the directory disappears and returns.
func TestAFailingDiskLosesRecordsUntilItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, seen := filepath.Join(t.TempDir(), "d"), &report{}
		w, _, err := segment.Open(segment.Settings{Dir: dir, Total: 1 << 20, After: time.After, Report: seen})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		w.Offer(1, record(1, 10))
		synctest.Wait()
		if lost := w.TakeLost(); lost != 1 || seen.lost != 1 || seen.failures != 1 {
			t.Errorf("%d records are lost, reported %d and %d failures", lost, seen.lost, seen.failures)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		w.Offer(2, record(2, 10)) // waits for the end of the pause
		time.Sleep(time.Minute)   // of the bubble: no real time passes
		synctest.Wait()
		if got, _ := read(t, dir); len(got) != 1 || seen.recovered != 1 || w.TakeLost() != 0 {
			t.Errorf("records %v, recovered %d times", got, seen.recovered)
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestAFullQueueRefusesRecords(t *testing.T) {
	seen := &report{}
	dir := t.TempDir()
	w, _, err := segment.Open(segment.Settings{Dir: dir, Total: 1 << 30, After: time.After, Report: seen})
	if err != nil {
		t.Fatal(err)
	}
	taken, refused := 0, 0
	for i := range uint64(40) {
		if w.Offer(i+1, record(i+1, 1<<20)) {
			taken++
		} else {
			refused++
		}
	}
	if taken == 0 || taken > 16 || refused == 0 {
		t.Errorf("%d records are taken, %d refused", taken, refused)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got, _ := read(t, dir); len(got) != taken || seen.lost != refused {
		t.Errorf("%d records are written, %d reported as lost", len(got), seen.lost)
	}
	if !w.Offer(50, record(50, 1<<20)) {
		t.Error("the queue is still full")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("KARPLDG1\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add([]byte("KARP"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "00000000000000000001.ledger"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		size := 0
		damages, err := segment.Read(dir, func(line []byte) error { size += len(line) + 8; return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range damages {
			size += int(d.Bytes)
		}
		if len(damages) == 0 || damages[0].Offset > 0 {
			size += 8
		}
		if size != len(text) {
			t.Errorf("%d of %d bytes are accounted for", size, len(text))
		}
	})
}

// lockedDir is the environment variable with the directory that a process of the test opens, and keeps until it is killed.
const lockedDir = "KARPENTER_TEST_LOCKED_DIR"

// TestADirectoryBelongsToOneWriter: until it ends, also by a crash.
func TestADirectoryBelongsToOneWriter(t *testing.T) {
	open := func(dir string) (*segment.Writer, error) {
		w, _, err := segment.Open(segment.Settings{Dir: dir, Total: 1 << 30, After: time.After, Report: &report{}})
		return w, err
	}
	if dir := os.Getenv(lockedDir); dir != "" {
		if _, err := open(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("opened\n"); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	dir := t.TempDir()
	first, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(dir); !errors.Is(err, segment.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second writer gets %v", err)
	}
	if _, err := segment.Read(dir, func([]byte) error { return nil }); err != nil {
		t.Errorf("a reader gets %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Run(ctx); err != nil {
		t.Error(err)
	}
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), lockedDir+"="+dir)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("opened\n"))); err != nil {
		t.Fatal(err)
	}
	if _, err := open(dir); !errors.Is(err, segment.ErrInUse) {
		t.Errorf("a writer beside that of another process gets %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed
	if _, err := open(dir); err != nil {
		t.Errorf("after the crash of the other process: %v", err)
	}
}
