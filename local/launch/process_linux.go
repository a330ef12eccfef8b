package launch

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// listProcesses reads /proc, which needs no ps on the host.
func listProcesses() ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err != nil || len(line) == 0 {
			continue // gone meanwhile, a zombie, or a kernel thread
		}
		program, _, _ := bytes.Cut(line, []byte{0})
		out = append(out, process{pid: pid, program: string(program)})
	}
	return out, nil
}

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of linux/prctl.h.
const prSetChildSubreaper = 36

// adoptOrphans makes this process the parent of the components once kwokctl, which starts them, has ended. Then killed components can be
// reaped here instead of staying zombies where process 1 does not reap. Failure only costs that.
func adoptOrphans() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}
