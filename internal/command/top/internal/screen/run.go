package screen

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// Options are what top shows, and where.
type Options struct {
	Source view.Source
	// In and Out are the terminal. Env looks up a variable of the environment.
	In  io.Reader
	Out io.Writer
	Env func(string) (string, bool)
	// Clock is the present, Interval the least time between two updates of the screen.
	Clock    func() time.Time
	Interval time.Duration
	// MaxAge is how old the documents of a cluster without changes are at most. The screen says so when they are twice as old.
	MaxAge time.Duration
	// View is the first view on the screen, one of Views. Filter and Sort apply to it; Sort is the beginning of the title of a
	// column, with "-" before it for the reverse order.
	View, Filter, Sort string
}

// Interactive reports whether there is a terminal that can show more than one frame: both streams are one, and it can move the cursor.
func (o Options) Interactive() bool {
	return isTerminal(o.In) && isTerminal(o.Out) && o.env("TERM") != "dumb" && o.env("TERM") != ""
}

func isTerminal(stream any) bool {
	file, ok := stream.(term.File)
	return ok && term.IsTerminal(file.Fd())
}

func (o Options) env(name string) string {
	value, _ := o.Env(name)
	return value
}

// model returns the model before anything has been read.
func (o Options) model(ctx context.Context) (Model, error) {
	t := nodesTab
	if o.View != "" {
		var err error
		if t, err = tabOf(o.View); err != nil {
			return Model{}, err
		}
	}
	m := Model{
		settings: settings{ctx: ctx, source: o.Source, clock: o.Clock, interval: o.Interval, maxAge: o.MaxAge, zone: o.Clock().Location()},
		tab:      t, now: o.Clock(),
	}
	name, reversed := strings.CutPrefix(strings.ToUpper(o.Sort), "-")
	m.lists[t] = list{sort: name, reversed: reversed, filter: o.Filter}
	return m, nil
}

// Run shows the cluster until the user quits or ctx ends.
func Run(ctx context.Context, o Options) error { return run(ctx, o) }

func run(ctx context.Context, o Options, more ...tea.ProgramOption) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m, err := o.model(ctx)
	if err != nil {
		return err
	}
	m.changes = o.Source.Changes(ctx)
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.environment()), tea.WithFPS(30)}
	if o.env("NO_COLOR") != "" { // of any value, while the library wants a boolean
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	_, err = tea.NewProgram(m, append(options, more...)...).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// environment are the variables that describe the terminal.
func (o Options) environment() []string {
	var out []string
	for _, name := range []string{"TERM", "COLORTERM", "CLICOLOR", "CLICOLOR_FORCE", "TERM_PROGRAM", "TMUX", "STY", "SSH_TTY", "WT_SESSION", "TTY_FORCE"} {
		if value, ok := o.Env(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}
