//! Plans of changes to a session: a plan is carried out where it was made, or refused.

use treering::compaction::{CompactionSettings, Prepared, SummarySource};
use treering::merge::{Merge, MergePlan, MergeSummary, Repeated, Selection};
use treering::{EntryId, Error, Message, NewEntry, Session};

/// A session with two branches below its first message, the second one active.
struct Branched {
    session: Session,
    start: EntryId,
    left: EntryId,
}

fn branched() -> Branched {
    let session = Session::in_memory("/project");
    let start = session.append(Message::user("which way?")).unwrap();
    let left = session.append(Message::assistant("acme", "m", "left")).unwrap();
    session.branch(&start).unwrap();
    session.append(Message::assistant("acme", "m", "right")).unwrap();
    Branched { session, start, left }
}

fn merge_plan(session: &Session, from: &EntryId) -> MergePlan {
    let Merge::Ready(plan) = session.plan_merge(from, 0).unwrap() else { panic!("nothing new") };
    *plan
}

/// Carries out a plan after `moved` has moved the leaf, which must be refused without a write.
fn is_refused<P, T: std::fmt::Debug>(
    plan: impl Fn(&Branched) -> P,
    apply: impl Fn(&Session, &P) -> Result<T, Error>,
) {
    let moves: [fn(&Branched); 2] = [
        |branched| drop(branched.session.append(Message::user("meanwhile")).unwrap()),
        |branched| drop(branched.session.branch(&branched.left).unwrap()),
    ];
    for moved in moves {
        let branched = branched();
        let session = &branched.session;
        let made = plan(&branched);
        let planned_for = session.leaf();
        moved(&branched);
        let (leaf, length) = (session.leaf(), session.log_length());
        match apply(session, &made) {
            Err(Error::LeafMoved { expected, actual }) => {
                assert_eq!((expected, actual), (planned_for.clone(), leaf.clone()));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!((session.leaf(), session.log_length()), (leaf, length));
        session.branch(planned_for).unwrap();
        apply(session, &made).unwrap();
    }
}

#[test]
fn a_plan_is_refused_after_the_leaf_has_moved() {
    let drop_start = |branched: &Branched| branched.session.plan_drop([&branched.start]).unwrap();
    is_refused(drop_start, |session, plan| session.apply_edit(plan));
    let pick = |Branched { session, left, .. }: &Branched| {
        session.plan_pick(session, &Selection::from(left), Repeated::Skipped).unwrap()
    };
    is_refused(pick, |session, plan| session.apply_pick(plan));
    let merge = |branched: &Branched| merge_plan(&branched.session, &branched.left);
    is_refused(merge, |session, plan| session.apply_merge(plan));
    is_refused(merge, |session, plan| {
        session.apply_merge_summary(plan, MergeSummary::new("The other way was left."))
    });
}

fn prepared(session: &Session) -> Prepared {
    let settings = CompactionSettings::new().keep_recent_tokens(1);
    session.plan_compaction(&settings).unwrap().ready().unwrap().read().unwrap()
}

#[test]
fn a_planned_compaction_is_appended_to_its_leaf_or_refused() {
    let compact = |session: &Session, plan: &Prepared| {
        let entry = plan.entry("It goes somewhere.", SummarySource::Summarizer)?;
        session.apply_compaction(plan, entry)
    };
    is_refused(|branched| prepared(&branched.session), compact);
    let Branched { session, .. } = branched();
    let plan = prepared(&session);
    let id = compact(&session, &plan).unwrap();
    assert_eq!(session.tree().parent(&id).unwrap(), Some(plan.leaf.clone()));
    assert_eq!(session.context().unwrap().messages.len(), 2, "the summary, and the last message");
    session.branch(&plan.leaf).unwrap();
    let other = session.apply_compaction(&plan, NewEntry::session_info("Not a compaction"));
    assert!(matches!(other, Err(Error::InvalidEntry(_))), "{other:?}");
}

#[test]
fn a_summary_is_not_lost_with_a_refused_plan() {
    let Branched { session, left, .. } = branched();
    let plan = merge_plan(&session, &left);
    let text = plan.compose("The other way was left.");
    session.append(Message::user("meanwhile")).unwrap();
    session.apply_merge_summary(&plan, MergeSummary::new(&text)).unwrap_err();
    let again = merge_plan(&session, &left);
    let merged = session.apply_merge_summary(&again, MergeSummary::new(&text)).unwrap();
    assert_eq!(session.leaf(), Some(merged));
    assert_eq!(session.context().unwrap().messages.len(), 4);
}
