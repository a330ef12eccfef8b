package operator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/controller"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger/segment"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// diskTimeout bounds how long the end of the process waits for records to be written.
const diskTimeout = 5 * time.Second

// decisions is the ledger of the process, with its disk.
type decisions struct {
	options options.Ledger
	// start is recorded when the process becomes the leader.
	start   ledger.Start
	records *ledger.Ledger
	metrics *observe.LedgerMetrics
	clock   clock.Clock
	log     *slog.Logger

	// ctx ends when the process ends; then the writer writes what waits.
	ctx     context.Context
	end     context.CancelFunc
	writers sync.WaitGroup
	// failing is set while records cannot be written. Only the writer uses it.
	failing bool
}

// newDecisions returns the ledger of a process; nil if it is turned off.
func newDecisions(a assembly, metrics *observe.Metrics, settings map[string]string) *decisions {
	if !a.options.Ledger.Enabled() {
		return nil
	}
	d := &decisions{
		options: a.options.Ledger, metrics: &metrics.Ledger, clock: a.clock, log: a.process.Log,
		start: ledger.Start{Controller: a.process.Build.Version, Commit: a.process.Build.Commit, Settings: settings},
	}
	d.ctx, d.end = context.WithCancel(context.Background())
	d.records = ledger.New(d.clock.Now, int64(d.options.Memory), d)
	return d
}

// source is what the controllers get.
func (d *decisions) source() controller.Ledger {
	if d == nil {
		return controller.Ledger{}
	}
	return controller.Ledger{Records: d.records, Begin: d.begin}
}

// begin begins a term as leader. If the disk cannot be used, records are kept in memory only.
func (d *decisions) begin(_ context.Context, run string) error {
	start := d.start
	start.Run = run
	if d.options.Dir == "" {
		d.records.Begin(start, nil, 1)
		return nil
	}
	writer, next, err := segment.Open(segment.Settings{Dir: d.options.Dir, Total: int64(d.options.Disk), After: d.clock.After, Report: d})
	if err != nil {
		d.records.Begin(start, nil, 1)
		return err
	}
	d.log.Info("recording decisions", logfield.Directory(d.options.Dir))
	d.writers.Go(func() {
		if err := writer.Run(d.ctx); err != nil {
			d.log.Error("the last records of the ledger may be lost", logfield.Directory(d.options.Dir), logfield.Error(err))
		}
	})
	d.records.Begin(start, writer, next)
	return nil
}

// close writes what waits.
func (d *decisions) close() {
	if d == nil {
		return
	}
	d.end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.writers.Wait()
	}()
	select {
	case <-done:
	case <-d.clock.After(diskTimeout):
		d.log.Error("the disk is slow, the last records of the ledger may be lost", logfield.Directory(d.options.Dir))
	}
}

// Appended implements ledger.Reporter.
func (d *decisions) Appended(kind ledger.Kind, _ int) {
	d.metrics.Records.WithLabelValues(string(kind)).Inc()
}

// Kept implements ledger.Reporter.
func (d *decisions) Kept(bytes int64, dropped int) {
	d.metrics.MemoryBytes.Set(float64(bytes))
	d.metrics.Evicted.Add(float64(dropped))
}

// Failed implements ledger.Reporter.
func (d *decisions) Failed(kind ledger.Kind, err error) {
	d.metrics.Lost.WithLabelValues("encoding").Inc()
	d.log.Error("a record of the ledger cannot be encoded", logfield.RecordKind(string(kind)), logfield.Error(err))
}

// Damaged implements segment.Report.
func (d *decisions) Damaged(damage segment.Damage) {
	d.log.Warn("a segment of the ledger is damaged", logfield.Directory(d.options.Dir), logfield.Details(damage.String()))
}

// Written implements segment.Report.
func (d *decisions) Written(total int64) { d.metrics.DiskBytes.Set(float64(total)) }

// Lost implements segment.Report.
func (d *decisions) Lost(records int, err error) {
	if err == nil {
		d.metrics.Lost.WithLabelValues("queue_full").Add(float64(records))
		return
	}
	d.metrics.Lost.WithLabelValues("write_failed").Add(float64(records))
	if !d.failing {
		d.log.Error("records of the ledger cannot be written, retrying", logfield.Directory(d.options.Dir), logfield.Error(err))
	}
	d.failing = true
}

// Recovered implements segment.Report.
func (d *decisions) Recovered() {
	d.failing = false
	d.log.Info("records of the ledger are written again", logfield.Directory(d.options.Dir))
}
