package periodictask_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/periodictask"
)

// TestJobsAreDoneAgainAndAgain runs in a synctest bubble, where hours take no time.
func TestJobsAreDoneAgainAndAgain(t *testing.T) {
	for name, test := range map[string]struct {
		every func(int) time.Duration
		fails int
		want  []time.Duration
	}{
		"always":                          {periodictask.Always(12 * time.Hour), 0, []time.Duration{0, 12 * time.Hour, 24 * time.Hour}},
		"once":                            {periodictask.Always(-1), 0, []time.Duration{0}},
		"soon again after a failure":      {periodictask.Always(time.Hour), 2, []time.Duration{0, time.Second, 3 * time.Second, time.Hour + 3*time.Second}},
		"a failure of what is once to do": {periodictask.Always(-1), 1, []time.Duration{0, time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				start := time.Now()
				var got []time.Duration
				job := periodictask.Task{Name: "job", Every: test.every, Clock: clock.RealClock{}, Run: func(context.Context) error {
					got = append(got, time.Since(start))
					if len(got) == len(test.want) {
						stop()
					}
					if len(got) <= test.fails {
						return errors.New("no")
					}
					return nil
				}}
				if err := job.Start(ctx); err != nil {
					t.Error(err)
				}
				stop()
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// TestPausesGrowToTheirLimit has a task that never succeeds, such as one that needs a price list out of reach.
func TestPausesGrowToTheirLimit(t *testing.T) {
	for limit, want := range map[time.Duration]int{0: 1440, time.Hour: 35} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
			defer stop()
			runs := 0
			task := periodictask.Task{Name: "task", Every: periodictask.Always(time.Hour), RetryMax: limit, Clock: clock.RealClock{}, Run: func(context.Context) error {
				runs++
				return errors.New("no")
			}}
			if err := task.Start(ctx); err != nil {
				t.Error(err)
			}
			if runs < want-10 || runs > want+10 {
				t.Errorf("limit %s: %d runs in a day, want about %d", limit, runs, want)
			}
		})
	}
}
