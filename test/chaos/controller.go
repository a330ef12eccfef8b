package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/test/process"
)

// startController runs a built controller with these further flags, and variables in its environment. Its log is appended to log.
func startController(binary, kubeconfig, home string, cloud *cloudSetup, flags, variables []string, log *os.File) (*process.Process, error) {
	arguments := slices.Concat([]string{
		"controller", "--kubeconfig=" + kubeconfig, "--metrics-port=0", "--health-probe-port=0",
		"--disable-leader-election", "--batch-idle-duration=200ms", "--batch-max-duration=2s", "--log-level=debug",
	}, cloud.flags, flags)
	environment := slices.Concat([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, cloud.environment, variables)
	return process.Start(binary, arguments, environment, log)
}

// kill ends the controller between any two of its instructions. It is an error if the controller had exited before.
func kill(controller *process.Process) error {
	if err := controller.Kill(); err != nil {
		return err
	}
	if !controller.Signaled() {
		return fmt.Errorf("the controller exited: %s", controller.State())
	}
	return nil
}

// panics are the lines of a log that report a crash.
func panics(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "Observed a panic") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
