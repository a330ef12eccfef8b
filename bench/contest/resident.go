package contest

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// resetPeak makes the kernel forget how much memory the process held in RAM at most until now. Where that is not possible,
// the peak is that of the whole life of the process.
func resetPeak() {
	const forgetPeak = "5"
	_ = os.WriteFile("/proc/self/clear_refs", []byte(forgetPeak), 0)
}

// resident is how much memory the process holds in RAM, and the most it has held since resetPeak, in bytes. Both are 0
// where the system does not report it: only Linux does.
func resident() (now, peak uint64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "VmRSS":
			now = kibibytes(value)
		case "VmHWM":
			peak = kibibytes(value)
		}
	}
	return now, peak
}

// kibibytes reads "  1234 kB".
func kibibytes(text string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
