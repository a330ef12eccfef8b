package options

import (
	"errors"
	"slices"
	"strings"
)

// Notifications configures messages about disruption to a webhook.
type Notifications struct {
	// URLFile is a file with the URL of the webhook; empty sends none. URLs of Slack are secrets, so that there is no flag for one.
	URLFile string `name:"notification-url-file" envvar:"NOTIFICATION_URL_FILE" group:"Notifications" placeholder:"FILE" help:"File with the URL of a webhook that is notified of disruption, such as a mounted key of a Secret. It must be https, except on the loopback interface. Default: no notifications."`
	// SecretFile is a file with the secrets that messages are signed with.
	SecretFile string `name:"notification-secret-file" envvar:"NOTIFICATION_SECRET_FILE" group:"Notifications" placeholder:"FILE" help:"File with the secret that notifications are signed with, as whsec_ and base64; required for json. Several, separated by white space, all sign."`
	// Format is the form of the messages.
	Format NotificationFormat `name:"notification-format" envvar:"NOTIFICATION_FORMAT" group:"Notifications" default:"json" help:"Form of notifications: documents (json), or messages for incoming webhooks of Slack (slack)."`
	// Events are those that are sent; empty means the default.
	Events NotificationEvents `name:"notification-events" envvar:"NOTIFICATION_EVENTS" group:"Notifications" placeholder:"EVENT,..." help:"What to notify of, see docs/notifications.md. Default: all but plan.executing and command.started."`
}

// NotificationFormat is the form of notifications.
type NotificationFormat string

// The forms of notifications.
const (
	NotificationJSON  NotificationFormat = "json"
	NotificationSlack NotificationFormat = "slack"
)

// NotificationEvent is what happened: to a DisruptionPlan, or to a command that needs no approval.
type NotificationEvent string

// The events. A plan is blocked while it is approved and something, such as a closed window, keeps it from being executed; a command is blocked if
// its validation failed.
const (
	PlanProposed  NotificationEvent = "plan.proposed"
	PlanApproved  NotificationEvent = "plan.approved"
	PlanRejected  NotificationEvent = "plan.rejected"
	PlanBlocked   NotificationEvent = "plan.blocked"
	PlanExecuting NotificationEvent = "plan.executing"
	PlanExecuted  NotificationEvent = "plan.executed"
	PlanFailed    NotificationEvent = "plan.failed"
	PlanVoided    NotificationEvent = "plan.voided"
	PlanExpired   NotificationEvent = "plan.expired"

	CommandStarted  NotificationEvent = "command.started"
	CommandExecuted NotificationEvent = "command.executed"
	CommandFailed   NotificationEvent = "command.failed"
	CommandBlocked  NotificationEvent = "command.blocked"
)

// AllNotificationEvents lists the events.
func AllNotificationEvents() []NotificationEvent {
	return []NotificationEvent{
		PlanProposed, PlanApproved, PlanRejected, PlanBlocked, PlanExecuting, PlanExecuted, PlanFailed, PlanVoided, PlanExpired,
		CommandStarted, CommandExecuted, CommandFailed, CommandBlocked,
	}
}

// NotificationEvents is a list of events without repetition.
type NotificationEvents []NotificationEvent

// String is the list as on the command line.
func (e NotificationEvents) String() string {
	words := make([]string, len(e))
	for i := range e {
		words[i] = string(e[i])
	}
	return strings.Join(words, ",")
}

// Enabled reports whether notifications are sent.
func (n Notifications) Enabled() bool { return n.URLFile != "" }

// Wants reports whether an event is sent.
func (n Notifications) Wants(e NotificationEvent) bool {
	if len(n.Events) == 0 {
		return e != PlanExecuting && e != CommandStarted
	}
	return slices.Contains(n.Events, e)
}

func parseNotificationEvents(text string) (NotificationEvents, error) {
	var out NotificationEvents
	for word := range strings.SplitSeq(text, ",") {
		event, err := oneOf(AllNotificationEvents()...)(strings.TrimSpace(word))
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(out, event):
			return nil, errors.New(string(event) + " is repeated")
		}
		out = append(out, event)
	}
	return out, nil
}

func (n Notifications) validate(refuse func(flag, env string, value any, format string, args ...any)) {
	if n.Enabled() && n.Format == NotificationJSON && n.SecretFile == "" {
		refuse("notification-secret-file", "NOTIFICATION_SECRET_FILE", n.SecretFile, "must be set with --notification-url-file, because documents are signed")
	}
	if !n.Enabled() && n.SecretFile != "" {
		refuse("notification-url-file", "NOTIFICATION_URL_FILE", n.URLFile, "must be set with --notification-secret-file")
	}
}
