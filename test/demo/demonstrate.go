package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/demo"
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
	show := demo.NewProgress(out, start)
	logged := demo.NewSpotlight(show, what.Lines)
	p := &play{Play: &demo.Play{Settings: demo.Settings{Pods: s.pods, Catalog: s.catalog, PriceLabel: kwok.PriceLabel, Manifests: os.DirFS(s.manifests)}, Show: show, Logged: logged}}
	if s.cloud != cloudKwok {
		p.Limit = stormLimit
	}
	p.stack, err = startStack(ctx, s, io.MultiWriter(log, logged), func(step string, took time.Duration) {
		show.Line(step)
		if p.Cluster == 0 {
			p.Cluster = took
		} else {
			p.Controller = took
		}
	})
	if err != nil {
		return err
	}
	if s.console != "" {
		show.Line("the console is at http://" + s.console + "/console/")
	}
	if p.stack.azure != nil {
		show.Line("  azure: the controller reads the price list of the public cloud only: in its savings, spot costs as much as on-demand here")
	}
	p.Ctx, p.Client, p.Price = p.stack.ctx, p.stack.client, p.stack.pricePerHour
	figures, err := what.play(p)
	if err != nil {
		show.End()
		if ctx.Err() == nil {
			asking, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(diagnose(asking, p.stack)))
		}
		return errors.Join(err, p.stack.end())
	}
	if s.console != "" {
		show.Line("the console stays open until Ctrl-C")
		<-p.stack.ctx.Done()
		if cause := context.Cause(p.stack.ctx); ctx.Err() == nil {
			return errors.Join(cause, p.stack.end())
		}
	}
	if err := p.stack.end(); err != nil {
		return err
	}
	show.Line("cluster and controller stopped")
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

// diagnose describes a failure: what waits in the cluster, and the end of the controller's log.
func diagnose(ctx context.Context, st *stack) string {
	return demo.Describe(ctx, st.client) + st.refusals() + controllerLog(st.controller, 15)
}

// controllerLog returns the last n lines of the controller's log in readable form.
func controllerLog(c *controller, n int) string {
	if c == nil {
		return ""
	}
	var text strings.Builder
	text.WriteString("--- last lines of the controller's log:\n")
	_, log := c.current()
	for _, line := range log.Tail(n) {
		text.WriteString(demo.PrettyLine(line) + "\n")
	}
	return text.String()
}
