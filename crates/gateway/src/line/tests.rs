//! Sessions and what becomes of a block in them.

use super::{LineScreen, LineSessions, SESSIONS_OF_ID_MAX, ShowResult};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use records::{AlertNo, EndpointNo, LineBlock};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// A screen whose socket takes a block when the test says so.
#[derive(Default)]
struct SlowScreen {
    waiting: Mutex<Vec<oneshot::Sender<ShowResult>>>,
}

impl SlowScreen {
    fn end_with(&self, result: ShowResult) {
        self.waiting.lock().unwrap().drain(..).for_each(|one| one.send(result).unwrap());
    }

    fn handed(&self) -> usize {
        self.waiting.lock().unwrap().len()
    }
}

impl LineScreen for SlowScreen {
    fn show(&self, _: Arc<LineBlock>) -> BoxFuture<'static, ShowResult> {
        let (taken, result) = oneshot::channel();
        self.waiting.lock().unwrap().push(taken);
        async move { result.await.unwrap_or(ShowResult::Ended) }.boxed()
    }
}

fn block(endpoint: u32) -> LineBlock {
    LineBlock {
        route: "desks".to_owned(),
        of: (AlertNo(1), EndpointNo(endpoint)),
        id: format!("a/{endpoint}"),
        asks: false,
        lines: vec!["Fire".to_owned()],
    }
}

#[tokio::test]
async fn nobody_is_written_to_who_is_not_logged_in() {
    let sessions = Arc::<LineSessions>::default();
    assert_eq!(sessions.show("ann", block(1)).await, None);
    let entry = sessions.open("ann", Arc::new(SlowScreen::default())).unwrap();
    assert!(sessions.is_open("ann") && !sessions.is_open("bo"));
    drop(entry);
    assert_eq!(sessions.show("ann", block(1)).await, None);
}

#[tokio::test]
async fn one_session_that_takes_it_is_enough_and_one_that_ends_is_not() {
    let sessions = Arc::<LineSessions>::default();
    let screens = [Arc::new(SlowScreen::default()), Arc::new(SlowScreen::default())];
    let _entries = screens.clone().map(|screen| sessions.open("ann", screen).unwrap());
    let mut showing = Box::pin(sessions.show("ann", block(1)));
    assert_eq!(showing.as_mut().now_or_never(), None);
    screens[0].end_with(ShowResult::Ended);
    assert_eq!(showing.as_mut().now_or_never(), None);
    screens[1].end_with(ShowResult::Taken);
    assert_eq!(showing.await, Some(ShowResult::Taken));
}

#[tokio::test]
async fn a_delivery_is_handed_to_a_session_once_and_again_only_where_there_was_no_room() {
    let sessions = Arc::<LineSessions>::default();
    let screen = Arc::new(SlowScreen::default());
    let _entry = sessions.open("ann", screen.clone()).unwrap();
    // The first try was given up before the socket took it; the second finds it on its way.
    assert_eq!(sessions.show("ann", block(1)).now_or_never(), None);
    let mut again = Box::pin(sessions.show("ann", block(1)));
    assert_eq!((again.as_mut().now_or_never(), screen.handed()), (None, 1));
    screen.end_with(ShowResult::Taken);
    assert_eq!(again.await, Some(ShowResult::Taken));
    assert_eq!(sessions.show("ann", block(1)).now_or_never(), Some(Some(ShowResult::Taken)));

    assert_eq!(sessions.show("ann", block(2)).now_or_never(), None);
    screen.end_with(ShowResult::Full);
    assert_eq!(sessions.show("ann", block(2)).now_or_never(), None);
    assert_eq!(screen.handed(), 1);
}

#[tokio::test]
async fn an_id_has_a_bounded_number_of_sessions() {
    let sessions = Arc::<LineSessions>::default();
    let open = || sessions.open("ann", Arc::new(SlowScreen::default()));
    let entries: Vec<_> = (0..SESSIONS_OF_ID_MAX).map(|_| open().unwrap()).collect();
    assert!(open().is_none());
    drop(entries);
    assert!(open().is_some());
}
