// SPDX-License-Identifier: MIT OR Apache-2.0
//! The macro that makes a role's list.

/// Makes the two enums of a role, the parameters of its laws and its laws at work, from one list; and `with!`, which
/// evaluates an expression with whichever law, or type of a law, it is, or lists all with their defaults. What is `bare` has
/// no parameters. What is `in boxes` is large, and who has another law need not carry its size. Where each law has a name,
/// `Red(RedParams) = "red" => RedQueue`, files name it so.
macro_rules! laws {
    (
        $(#[$($about_params:tt)*])* params $Params:ident;
        $(#[$about_any:meta])* any $Any:ident $([$P:ident: $Bound:path])?: $Law:path, set_up($($arg:ident: $Arg:ty),*) by $args:tt;
        $(bare: $($(#[$($bare_about:tt)*])* $bare:ident $(= $bare_kind:literal)? => $Bare:ty),+;)?
        $(in place: $($(#[$($small_about:tt)*])* $small:ident($SmallParams:ty) $(= $small_kind:literal)? => $Small:ty),+;)?
        $(in boxes: $($(#[$($large_about:tt)*])* $large:ident($LargeParams:ty) $(= $large_kind:literal)? => $Large:ty),+;)?
    ) => {
        params! {
            $(#[$($about_params)*])*
            $Params {
                $($($(#[$($bare_about)*])* $bare [$($bare_kind)?];)+)?
                $($($(#[$($small_about)*])* $small($SmallParams) [$($small_kind)?];)+)?
                $($($(#[$($large_about)*])* $large($LargeParams) [$($large_kind)?];)+)?
            }
        }

        $(#[$about_any])*
        pub enum $Any $(<$P>)? {
            $($(#[doc = concat!("`", stringify!($Bare), "` at work.")] $bare($Bare),)+)?
            $($(#[doc = concat!("`", stringify!($Small), "` at work.")] $small($Small),)+)?
            $($(#[doc = concat!("`", stringify!($Large), "` at work.")] $large(Box<$Large>),)+)?
        }

        impl $(<$P: $Bound>)? $Any $(<$P>)? {
            /// Sets the law up.
            ///
            /// # Errors
            /// A parameter outside its domain.
            pub fn new(params: &$Params $(, $arg: $Arg)*) -> Result<Self, ParameterError> {
                Ok(match *params {
                    $($($Params::$bare => Self::$bare(set_up!($Bare, $Law, (), $args)?),)+)?
                    $($($Params::$small(params) => Self::$small(set_up!($Small, $Law, params, $args)?),)+)?
                    $($($Params::$large(params) => {
                        Self::$large(Box::new(set_up!($Large, $Law, params, $args)?))
                    })+)?
                })
            }
        }

        macro_rules! with {
            (mut $any:ident, $law:ident => $heard:expr) => {
                match $any {
                    $($(Self::$bare($law) => $heard,)+)?
                    $($(Self::$small($law) => $heard,)+)?
                    $($(Self::$large(boxed) => {
                        let $law = &mut **boxed;
                        $heard
                    })+)?
                }
            };
            (type of $params:ident, $Chosen:ident => $said:expr) => {
                match $params {
                    $($(Self::$bare => {
                        type $Chosen = $Bare;
                        $said
                    })+)?
                    $($(Self::$small(_) => {
                        type $Chosen = $Small;
                        $said
                    })+)?
                    $($(Self::$large(_) => {
                        type $Chosen = $Large;
                        $said
                    })+)?
                }
            };
            (defaults) => {
                vec![
                    $($(Self::$bare,)+)?
                    $($(Self::$small(Default::default()),)+)?
                    $($(Self::$large(Default::default()),)+)?
                ]
            };
            (ref $any:ident, $law:ident => $heard:expr) => {
                match $any {
                    $($(Self::$bare($law) => $heard,)+)?
                    $($(Self::$small($law) => $heard,)+)?
                    $($(Self::$large(boxed) => {
                        let $law = &**boxed;
                        $heard
                    })+)?
                }
            };
        }
    };
}

/// The parameters of whichever law it is: with names for files, or without.
macro_rules! params {
    (
        $(#[$($about:tt)*])*
        $Params:ident { $($(#[$($of:tt)*])* $law:ident $(($LawParams:ty))? [$kind:literal];)+ }
    ) => {
        $crate::kinds! {
            $(#[$($about)*])*
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub enum $Params {
                $($(#[$($of)*])* $law $(($LawParams))? = $kind,)+
            }
        }
    };
    (
        $(#[$($about:tt)*])*
        $Params:ident { $($(#[$($of:tt)*])* $law:ident $(($LawParams:ty))? [];)+ }
    ) => {
        $(#[$($about)*])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $Params {
            $($(#[$($of)*])* $law $(($LawParams))?,)+
        }
    };
}

/// Calls a law's constructor.
macro_rules! set_up {
    ($Type:ty, $Law:path, $params:expr, ($($arg:ident),*)) => {
        <$Type as $Law>::set_up($params $(, $arg)*)
    };
}
