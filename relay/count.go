package relay

import (
	"cmp"
	"time"

	"wok/nostr"
	"wok/planner"
	"wok/store"
)

// A tally is a COUNT under way (NIP-45). Its id is only what the answer is
// marked with: it replaces nothing and nothing can close it.
type tally struct {
	conn    *conn
	id      string
	filters []*nostr.Filter
	values  int        // in filters
	keys    [][32]byte // of the client when it asked
	counter *planner.Counter
}

// count begins a COUNT.
func (c *conn) count(id string, filters []*nostr.Filter) {
	limits := &c.srv.opts.Limits
	if limits.NoCount {
		c.send(nostr.AppendClosed(nil, id, nostr.PrefixBlocked.Reason("COUNT is not served here")))
		return
	}
	narrow := limits.Narrow.check(filters)
	filters = possible(filters)
	keys := c.keys()
	if barred := cmp.Or(narrow, c.srv.opts.Auth.barred(filters, keys)); barred != nil {
		c.remind(barred.Prefix)
		c.send(nostr.AppendClosed(nil, id, barred.Error()))
		return
	}
	c.mu.Lock()
	n := values(filters)
	room := c.counts < limits.MaxSubs && (limits.MaxOpenValues == 0 || c.values+n <= limits.MaxOpenValues)
	if room {
		c.counts++
		c.values += n
	}
	c.mu.Unlock()
	if !room {
		c.send(nostr.AppendClosed(nil, id, nostr.PrefixRateLimited.Reason("too many counts at once")))
		return
	}
	c.srv.sched.add(c, fresh, &tally{conn: c, id: id, filters: filters, values: n, keys: keys})
}

func (j *tally) owner() *conn { return j.conn }

func (j *tally) subscription() *subscription { return nil }

func (j *tally) slice(tx *store.Txn, deadline time.Time) (outcome, error) {
	if j.conn.ended() {
		return over, nil
	}
	var err error
	if j.counter == nil {
		if j.counter, err = planner.NewCount(tx, j.filters, j.options()); err != nil {
			return over, err
		}
	}
	done, err := j.counter.Run(tx, planner.Budget{Deadline: deadline})
	if err != nil {
		return over, err
	}
	count, limits := j.counter.Count(), &j.conn.srv.opts.Limits
	switch {
	case done:
		j.conn.srv.lost(j.counter.Lost(), j.filters)
	case limits.MaxCount > 0 && count.N >= limits.MaxCount:
		count.Approximate, count.HLL = true, nil // registers of a part would pass for those of the whole
	case !limits.allows(len(j.filters), j.counter.Work()):
		j.reply(nostr.AppendClosed(nil, j.id, tooDear.Error()))
		return over, nil
	default:
		return again, nil
	}
	j.reply(nostr.AppendCount(nil, j.id, count))
	return over, nil
}

func (j *tally) options() planner.Options {
	o := &j.conn.srv.opts
	return planner.Options{HLL: o.HLL, Visible: o.Auth.viewer(j.filters, j.keys)}
}

func (j *tally) fail(err error) {
	j.conn.srv.log.Error("count ended", "client", j.conn.src.Info, "filters", shapes(j.filters), "error", err)
	j.reply(nostr.AppendClosed(nil, j.id, nostr.RefusalOf(err).Error()))
}

// reply ends the count with its only answer.
func (j *tally) reply(message []byte) {
	c := j.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts--
	c.values -= j.values
	c.sendText(nil, message)
}
