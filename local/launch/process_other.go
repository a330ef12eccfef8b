//go:build !linux

package launch

import (
	"os/exec"
	"strconv"
	"strings"
)

// listProcesses asks ps, which every Unix other than Linux containers has.
func listProcesses() ([]process, error) {
	text, err := exec.Command("ps", "-axo", "pid=,args=").Output()
	if err != nil {
		return nil, err
	}
	var out []process
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil {
			out = append(out, process{pid: pid, program: fields[1]})
		}
	}
	return out, nil
}

// adoptOrphans is a no-op: on other systems process 1 adopts and reaps.
func adoptOrphans() {}
