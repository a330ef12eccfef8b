package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// demonstrate runs one scene.
func demonstrate(ctx context.Context, s settings, what scene, out io.Writer) (err error) {
	start := time.Now()
	log, err := openLog(s.log)
	if err != nil {
		return err
	}
	defer func() {
		_ = log.Close()
		// Neither success nor Ctrl-C needs the log.
		if explain := err != nil && ctx.Err() == nil; explain {
			err = fmt.Errorf("%w\nthe controller's log is %s", err, log.Name())
		} else if s.log == "" {
			_ = os.Remove(log.Name())
		}
	}()
	show := newProgress(out, start)
	logged := newSpotlight(show, what.lines)
	p := &play{settings: s, show: show, logged: logged}
	p.stack, err = startStack(ctx, s, io.MultiWriter(log, logged), func(step string, took time.Duration) {
		show.line(step)
		if p.cluster == 0 {
			p.cluster = took
		} else {
			p.controller = took
		}
	})
	if err != nil {
		return err
	}
	figures, err := what.perform(p)
	if err != nil {
		show.end()
		if ctx.Err() == nil {
			asking, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(diagnose(asking, p.stack)))
		}
		return errors.Join(err, p.stack.end())
	}
	if err := p.stack.end(); err != nil {
		return err
	}
	show.line("cluster and controller stopped")
	_, err = fmt.Fprintf(out, "\n%s · %.1f s in all\n", figures, time.Since(start).Seconds())
	return err
}

// openLog opens the file of the controller's log, a new temporary one if path is "".
func openLog(path string) (*os.File, error) {
	open := func() (*os.File, error) { return os.Create(path) }
	if path == "" {
		open = func() (*os.File, error) { return os.CreateTemp("", "karpenter-demo-*.log") }
	}
	log, err := open()
	if err != nil {
		return nil, fmt.Errorf("opening the controller's log file: %w", err)
	}
	return log, nil
}
