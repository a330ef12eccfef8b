package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/bench/workload"
)

// measurement is one side's result for one case at one size.
type measurement struct {
	Pods  int           `json:"pods"`
	Types int           `json:"types"`
	Nodes int           `json:"nodes"`
	Score contest.Score `json:"score"`
}

// measuring is a way to measure: in this process or in a separate one.
type measuring func(ctx context.Context, s settings, c workload.Case, size int, side contest.Contestant) (measurement, error)

// here measures a side in this process.
func here(ctx context.Context, s settings, c workload.Case, size int, side contest.Contestant) (measurement, error) {
	in, err := c.Input(ctx, size, s.trace)
	if err != nil {
		return measurement{}, err
	}
	m := measurement{Pods: len(in.Pods), Types: len(in.Types), Nodes: len(in.Nodes)}
	if m.Score, err = contest.Measure(side, in, s.effort); err != nil {
		return measurement{}, fmt.Errorf("case %s, %d pods: %w", c.Name, len(in.Pods), err)
	}
	return m, nil
}

// alone measures a side in a separate process, so that its memory and its heap are not shared with the other side.
func alone(ctx context.Context, s settings, c workload.Case, size int, side contest.Contestant) (measurement, error) {
	program, err := os.Executable()
	if err != nil {
		return measurement{}, fmt.Errorf("looking for this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "-alone", "-only="+side.Name, "-case="+c.Folder(), "-size="+strconv.Itoa(size),
		"-trace="+s.trace, "-runs="+strconv.Itoa(s.effort.Runs), "-budget="+s.effort.Budget.String())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return measurement{}, fmt.Errorf("measuring %s on case %s in a separate process: %w", side.Name, c.Name, err)
	}
	var m measurement
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		return measurement{}, fmt.Errorf("reading what %s did on case %s: %w", side.Name, c.Name, err)
	}
	return m, nil
}

// answerAlone is the other end of alone: it measures and prints the measurement.
func answerAlone(ctx context.Context, s settings) error {
	c, err := workload.Read(s.one)
	if err != nil {
		return err
	}
	for _, side := range sides() {
		if side.Name != s.only {
			continue
		}
		m, err := here(ctx, s, c, s.size, side)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(m)
	}
	return fmt.Errorf("-alone needs -only=ours or -only=upstream")
}
